#include "model/folds/axis_length.hpp"

#include <algorithm>

#include "model/folds/layer_folds.hpp"

namespace pptrain {
namespace {

void lengthen(std::vector<ParameterSpec>& parameters, ShardAxis axis, Interval all) {
  for (ParameterSpec& spec : parameters) {
    if (spec.axis == axis)
      spec.shape[static_cast<std::size_t>(spec.dimension)] = spec.division().size_of(all);
  }
}

void lengthen(OperatorList& list, ShardAxis axis, Interval all) {
  for (Value& value : list.values) {
    if (value.divided.axis == axis) value.columns = value.divided.size_of(all);
  }
}

bool has_axis(const Layer& layer, ShardAxis axis) {
  return std::any_of(layer.parameters.begin(), layer.parameters.end(),
                     [axis](const ParameterSpec& spec) { return spec.axis == axis; });
}

}  // namespace

Model with_axis_length(Model model, ShardAxis axis, std::int64_t length, double compute_bytes) {
  const Interval all = {0, length};
  model.axes.at(axis) = length;
  for (Layer& layer : model.layers) {
    if (!has_axis(layer, axis)) continue;
    lengthen(layer.parameters, axis, all);
    lengthen(layer.operators, axis, all);
    for (auto& [division, list] : layer.other_divisions) lengthen(list, axis, all);
    fold(layer, compute_bytes);
  }
  return model;
}

}  // namespace pptrain
