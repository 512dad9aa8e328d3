#include "nn/layer.hpp"

#include <algorithm>

namespace pptrain {

std::vector<Interval> LayerContext::parts(ShardAxis axis) const {
  const int members = tensor_group.size();
  if (axis == ShardAxis::none)
    return std::vector<Interval>(static_cast<std::size_t>(members), {0, 1});
  const auto given = shards.find(to_string(axis));
  return given != shards.end() ? given->second : even_division(model.axis_size(axis), members);
}

namespace {

/// Whether a layer between the first and the last shares a parameter with another.
bool shares(const Model& model, const Layer& layer, const std::string& parameter) {
  if (layer.name == model.layers.front().name || layer.name == model.layers.back().name)
    return false;
  const auto readers =
      std::count_if(model.layers.begin(), model.layers.end(), [&](const Layer& other) {
        return std::any_of(other.parameters.begin(), other.parameters.end(),
                           [&](const ParameterSpec& spec) { return spec.name == parameter; });
      });
  return readers > 1;
}

}  // namespace

std::vector<std::size_t> add_parameters(const Layer& layer, ChunkId chunk, LayerContext& context) {
  ParameterStore& store = context.parameters;
  const auto add = [&](const ParameterSpec& whole) {
    const ParameterSpec spec = whole.divided_by(context.division);
    return store.add(spec, context.part(spec.axis), context.model.axis_size(spec.axis));
  };
  for (const ParameterSpec& spec : layer.parameters) {
    if (store.find(spec.name) || !shares(context.model, layer, spec.name)) continue;
    store.start_unit(chunk);
    add(spec);
  }
  store.start_unit(chunk);
  std::vector<std::size_t> indices;
  for (const ParameterSpec& spec : layer.parameters) indices.push_back(add(spec));
  for (const ParameterSpec& buffer : layer.buffers) context.parameters.buffers().add(buffer);
  return indices;
}

}  // namespace pptrain
