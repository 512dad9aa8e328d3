#include "nn/layer.hpp"

#include "base/error.hpp"
#include "nn/embedding.hpp"
#include "nn/output.hpp"
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

std::unique_ptr<LayerModule> make_layer(const Layer& layer, ChunkId chunk, LayerContext& context) {
  std::vector<std::size_t> indices;
  for (const ParameterSpec& spec : layer.parameters) {
    indices.push_back(context.parameters.add(chunk, spec, context.part(spec.axis), context.model.axis_size(spec.axis)));
  }
  switch (layer.kind) {
    case LayerKind::embedding: return std::make_unique<Embedding>(context, indices);
    case LayerKind::transformer_block: return std::make_unique<TransformerBlock>(context, indices);
    case LayerKind::output: return std::make_unique<OutputLayer>(context, indices);
  }
  PPTRAIN_ASSERT(false, "no module for layer {}", layer.name);
  return nullptr;
}

}  // namespace pptrain
