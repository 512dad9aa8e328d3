#pragma once

#include <vector>

#include "cost/cost.hpp"

namespace pptrain {

/// Bytes of model state that a device holds from step to step.
struct StateBytes {
  double weights = 0.0;
  double gradients = 0.0;
  double optimizer = 0.0;
  /// Bytes of all three.
  double sum() const { return weights + gradients + optimizer; }
};

/// Bytes per parameter on one device, of which a ZeRO stage divides its part by `sharers`: the
/// replicas that share it, or where they hold unequal slices all of it as a multiple of the
/// device's (`Stage::slices_of`).
StateBytes state_bytes_per_parameter(const BytesPerParameter& bytes, int zero_stage,
                                     double sharers);
/// Bytes per parameter on one device of the mesh: ZeRO divides them by the replicas that share
/// them, offload keeps the optimizer state on the host.
StateBytes state_bytes_per_parameter(const BytesPerParameter& bytes, const Stage& mesh,
                                     double sharers);

/// Model state on each device of the cluster, in device order: what `fixed_bytes` counts without
/// the workspace, in its parts. Devices that the plan does not use hold nothing.
std::vector<StateBytes> state_bytes(const Instance& instance, const Plan& plan);

}  // namespace pptrain
