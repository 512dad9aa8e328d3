#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"
#include "model/model.hpp"

namespace pptrain {

/// What there is a value of in what an optimizer keeps of a parameter.
enum class StateExtent {
  elements,  ///< each element; replicas divide them as they divide the parameter
  rows,     ///< each row of a matrix; who holds elements of it holds those of all rows of its shard
  columns,  ///< each column of a matrix; who holds elements of it holds those of all columns of its
            ///< shard
};

/// A quantity that an optimizer keeps of a parameter beside its weights, fp32.
struct StateSpec {
  std::string name;  ///< in checkpoints: "m"
  StateExtent extent = StateExtent::elements;
};

/// What the update of an element needs of the rest of its parameter.
enum class UpdateScope {
  element,  ///< nothing
  sums,     ///< sums over its row, its column and all elements
  matrix,   ///< all elements at once
};

/// All that the rest of pptrain knows of an optimizer's step over one parameter: how much memory,
/// which datasets of a checkpoint and how much time it takes, and how it may be divided.
struct UpdateRule {
  OptimizerKind method = {};  ///< whose arithmetic it is (`src/optim`)
  std::vector<StateSpec> states;
  UpdateScope scope = UpdateScope::element;
  double flop = 0.0;         ///< per element
  double bytes_moved = 0.0;  ///< per element, from and to memory
};

UpdateRule update_rule(const OptimizerConfig& optimizer, const ParameterSpec& parameter);

/// What the optimizer keeps of a stored tensor; nothing of a buffer.
std::vector<StateSpec> states_of(const OptimizerConfig& optimizer, const ParameterSpec& parameter);

/// Whether a step needs of a parameter more than the elements that it updates.
bool is_whole_update(const UpdateRule& rule);

/// Shape of a state, and how it is divided where the parameter is; the name is the parameter's.
ParameterSpec state_spec(const ParameterSpec& parameter, StateExtent extent);

/// The quantities of training of a stored tensor: its weights, then what the optimizer keeps.
std::vector<ParameterSpec> quantities_of(const OptimizerConfig& optimizer,
                                         const ParameterSpec& parameter);

/// Bytes that the optimizer keeps per parameter of the model: of the layer that has most of them,
/// so that no stage needs more.
double state_bytes_per_parameter(const OptimizerConfig& optimizer, const Model& model);

}  // namespace pptrain
