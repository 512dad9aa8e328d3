#include "nn/layer.hpp"

#include "base/error.hpp"
#include "nn/embedding.hpp"
#include "nn/output.hpp"
#include "nn/recomputed.hpp"
#include "nn/transformer_block.hpp"

namespace pptrain {

Interval LayerContext::part(ShardAxis axis) const {
  switch (axis) {
    case ShardAxis::heads: return heads;
    case ShardAxis::columns: return columns;
    case ShardAxis::vocabulary: return vocabulary;
    case ShardAxis::none: break;
  }
  return {0, 1};
}

namespace {

std::unique_ptr<LayerModule> plain_layer(const Layer& layer, const std::vector<std::size_t>& parameters,
                                         LayerContext& context) {
  switch (layer.kind) {
    case LayerKind::embedding: return std::make_unique<Embedding>(context, parameters);
    case LayerKind::transformer_block: return std::make_unique<TransformerBlock>(context, parameters);
    case LayerKind::output: return std::make_unique<OutputLayer>(context, parameters);
  }
  PPTRAIN_ASSERT(false, "no module for layer {}", layer.name);
  return nullptr;
}

}  // namespace

std::unique_ptr<LayerModule> make_layer(const Layer& layer, ChunkId chunk, LayerContext& context) {
  context.parameters.start_unit(chunk);
  std::vector<std::size_t> indices;
  for (const ParameterSpec& spec : layer.parameters) {
    indices.push_back(context.parameters.add(spec, context.part(spec.axis), context.model.axis_size(spec.axis)));
  }
  std::unique_ptr<LayerModule> module = plain_layer(layer, indices, context);
  if (context.recompute != Recompute::full || layer.kind == LayerKind::embedding) return module;
  return std::make_unique<RecomputedLayer>(std::move(module));
}

}  // namespace pptrain
