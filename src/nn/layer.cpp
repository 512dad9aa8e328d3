#include "nn/layer.hpp"

#include "nn/operator_layer.hpp"
#include "nn/recomputed.hpp"

namespace pptrain {

std::vector<Interval> LayerContext::parts(ShardAxis axis) const {
  const int members = tensor_group.size();
  if (axis == ShardAxis::none) return std::vector<Interval>(static_cast<std::size_t>(members), {0, 1});
  const auto given = shards.find(to_string(axis));
  return given != shards.end() ? given->second : even_division(model.axis_size(axis), members);
}

std::vector<std::size_t> add_parameters(const Layer& layer, ChunkId chunk, LayerContext& context) {
  context.parameters.start_unit(chunk);
  std::vector<std::size_t> indices;
  for (const ParameterSpec& whole : layer.parameters) {
    const ParameterSpec spec = whole.divided_by(context.division);
    indices.push_back(context.parameters.add(spec, context.part(spec.axis), context.model.axis_size(spec.axis)));
  }
  return indices;
}

std::unique_ptr<LayerModule> make_layer(const Layer& layer, ChunkId chunk, LayerContext& context) {
  const std::vector<std::size_t> indices = add_parameters(layer, chunk, context);
  const bool by_rows = context.division == WeightDivision::rows && layer.divides_either_way();
  const OperatorList& list = by_rows ? layer.by_rows : layer.operators;
  auto module = std::make_unique<OperatorLayer>(list, fused(list), indices, context);
  if (context.recompute != Recompute::full || layer.reads_samples()) return module;
  return std::make_unique<RecomputedLayer>(std::move(module));
}

}  // namespace pptrain
