#include "model/optimizers/update_rule.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "model/optimizers/rules.hpp"

namespace pptrain {
namespace {

constexpr double state_element_bytes = 4.0;

double state_bytes(const OptimizerConfig& optimizer, const ParameterSpec& parameter) {
  double bytes = 0.0;
  for (const StateSpec& state : update_rule(optimizer, parameter).states) {
    bytes += state_element_bytes * static_cast<double>(state_spec(parameter, state.extent).size());
  }
  return bytes;
}

}  // namespace

UpdateRule update_rule(const OptimizerConfig& optimizer, const ParameterSpec& parameter) {
  switch (optimizer.kind) {
#define PPTRAIN_CASE(name) \
  case OptimizerKind::name: return optimizers::name(optimizer, parameter);
    PPTRAIN_FOR_EACH_OPTIMIZER(PPTRAIN_CASE)
#undef PPTRAIN_CASE
  }
  PPTRAIN_ASSERT(false, "no rule of optimizer {}", static_cast<int>(optimizer.kind));
}

std::vector<StateSpec> states_of(const OptimizerConfig& optimizer, const ParameterSpec& parameter) {
  return parameter.buffer ? std::vector<StateSpec>() : update_rule(optimizer, parameter).states;
}

bool is_whole_update(const UpdateRule& rule) { return rule.scope != UpdateScope::element; }

ParameterSpec state_spec(const ParameterSpec& parameter, StateExtent extent) {
  ParameterSpec spec = parameter;
  if (extent == StateExtent::elements) return spec;
  const int kept = extent == StateExtent::rows ? 0 : 1;
  spec.shape = {parameter.shape[static_cast<std::size_t>(kept)]};
  const bool whole = spec.axis == ShardAxis::none || spec.axis == ShardAxis::experts;
  if (!whole && spec.dimension != kept) spec.axis = ShardAxis::none;
  spec.dimension = 0;
  return spec;
}

std::vector<ParameterSpec> quantities_of(const OptimizerConfig& optimizer,
                                         const ParameterSpec& parameter) {
  std::vector<ParameterSpec> quantities = {parameter};
  for (const StateSpec& state : states_of(optimizer, parameter)) {
    quantities.push_back(state_spec(parameter, state.extent));
  }
  return quantities;
}

double state_bytes_per_parameter(const OptimizerConfig& optimizer, const Model& model) {
  double most = 0.0;
  for (const Layer& layer : model.layers) {
    double bytes = 0.0;
    for (const ParameterSpec& parameter : layer.parameters)
      bytes += state_bytes(optimizer, parameter);
    if (layer.num_parameters() > 0)
      most = std::max(most, bytes / static_cast<double>(layer.num_parameters()));
  }
  return most;
}

}  // namespace pptrain
