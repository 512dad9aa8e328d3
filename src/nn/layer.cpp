#include "nn/layer.hpp"

#include "base/error.hpp"
#include "nn/classifier.hpp"
#include "nn/dense.hpp"
#include "nn/embedding.hpp"
#include "nn/output.hpp"
#include "nn/recomputed.hpp"
#include "nn/transformer_block.hpp"

namespace pptrain {

std::vector<Interval> LayerContext::parts(ShardAxis axis) const {
  const int members = tensor_group.size();
  if (axis == ShardAxis::none) return std::vector<Interval>(static_cast<std::size_t>(members), {0, 1});
  const auto given = shards.find(to_string(axis));
  return given != shards.end() ? given->second : even_division(model.axis_size(axis), members);
}

namespace {

std::unique_ptr<LayerModule> plain_layer(const Layer& layer, const std::vector<std::size_t>& parameters,
                                         LayerContext& context) {
  switch (layer.kind) {
    case LayerKind::embedding: return std::make_unique<Embedding>(context, parameters);
    case LayerKind::transformer_block: return std::make_unique<TransformerBlock>(context, parameters);
    case LayerKind::output: return std::make_unique<OutputLayer>(context, parameters);
    case LayerKind::dense_input: return std::make_unique<DenseInput>(context, parameters);
    case LayerKind::dense: return std::make_unique<DenseLayer>(context, parameters);
    case LayerKind::classifier: return std::make_unique<Classifier>(context, parameters);
  }
  PPTRAIN_ASSERT(false, "no module for layer {}", layer.name);
  return nullptr;
}

}  // namespace

std::unique_ptr<LayerModule> make_layer(const Layer& layer, ChunkId chunk, LayerContext& context) {
  context.parameters.start_unit(chunk);
  std::vector<std::size_t> indices;
  for (const ParameterSpec& whole : layer.parameters) {
    const ParameterSpec spec = whole.divided_by(context.division);
    indices.push_back(context.parameters.add(spec, context.part(spec.axis), context.model.axis_size(spec.axis)));
  }
  std::unique_ptr<LayerModule> module = plain_layer(layer, indices, context);
  if (context.recompute != Recompute::full || layer.kind == LayerKind::embedding) return module;
  return std::make_unique<RecomputedLayer>(std::move(module));
}

}  // namespace pptrain
