#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "comm/communicator.hpp"
#include "kernels/backend.hpp"
#include "optim/optimizer.hpp"

namespace pptrain {

/// A run whose update needs more of its parameter than the run, with its state.
struct WholeRun {
  std::size_t number;  ///< of the optimizer's runs
  ParameterRun run;
  std::vector<float*> state;  ///< as `UpdateRule::states` counts
  float weight_decay = 0.0F;

  /// Parameter whose elements the run has; `run.parameter` must not be null.
  const LocalParameter& parameter() const { return *run.parameter; }
};

/// What updates of whole parameters run on.
struct WholeContext {
  const OptimizerConfig& config;
  Backend backend;
  Arena& arena;
};

/// Updates that need more of a parameter than a device holds of it, for one part of the device's
/// model. On the host.
class WholeUpdate {
 public:
  virtual ~WholeUpdate() = default;
  /// Before all runs of the part, and before those of a unit, also where there are none. Collective
  /// over the devices that hold the same parameters.
  virtual void begin_part(const StepValues& /*values*/) {}
  /// Prepares the updates of the runs of unit `unit` of the part's store. Collective as
  /// `begin_part` is.
  virtual void begin_unit(const StepValues& /*values*/, std::size_t /*unit*/) {}
  /// Updates the weights, and their 16-bit copies, of the run with this `WholeRun::number`: between
  /// `begin_unit` and `end_unit` of its unit.
  virtual void update(std::size_t number) = 0;
  /// Ends the unit behind its last run: what `begin_unit` made for it may go.
  virtual void end_unit() {}
};

}  // namespace pptrain
