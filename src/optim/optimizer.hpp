#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "config/config.hpp"
#include "kernels/backend.hpp"
#include "model/optimizers/update_rule.hpp"
#include "nn/parameters/parameter_store.hpp"
#include "tensor/tensor.hpp"

namespace pptrain {

/// A run of elements that are treated alike; they stay where they are as long as the optimizer
/// lives.
struct ParameterRun {
  float* weights = nullptr;
  const float* gradients = nullptr;
  Matrix copies;  ///< the weights in 16 bits, or nothing
  std::size_t size = 0;
  bool decays = false;
  const LocalParameter* parameter = nullptr;  ///< whose elements they are; null: they are a vector
  std::int64_t begin = 0;                     ///< of its local elements, the first one
  std::size_t part = 0;                       ///< of the device's model
};

/// The devices with which a device divides the parameters of a part of its model.
struct UpdateGroups {
  const ParameterStore* store = nullptr;
  Communicator* members = nullptr;  ///< of its tensor-parallel group
  Communicator* owners = nullptr;   ///< of the slices of units; null: nothing is divided so
  std::function<std::vector<Interval>(ShardAxis)> parts;    ///< what each member has of an axis
  std::function<Interval(const LocalParameter&)> distinct;  ///< local elements that no member
                                                            ///< before holds too
};

/// Numbers of one step.
struct StepValues {
  std::int64_t step = 0;  ///< from 0, without those that were skipped
  double learning_rate = 0.0;
  double gradient_scale = 1.0;  ///< clipping, min(1, clip / (norm + 1e-6)), by the loss scale
};

/// Where an optimizer keeps its state.
enum class StatePlace {
  device,
  host,  ///< offloaded: in memory of the host, from which a step fetches it and to which it sends
         ///< it back
};

/// A quantity that is kept of a run.
struct RunState {
  StateExtent extent = StateExtent::elements;
  float* values = nullptr;  ///< of the run's elements, or of all rows or columns of the local
                            ///< parameter
};

/// Updates weights from gradients.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// `updated(r)` is called behind each run r, in order.
  virtual void step(const StepValues& values,
                    const std::function<void(std::size_t run)>& updated) = 0;
  /// Updates every run, for callers that need no notice of each.
  void step(const StepValues& values) {
    step(values, [](std::size_t) {});
  }
  /// What it keeps beside the weights: state()[r][k] is the k-th quantity of run r, as
  /// `UpdateRule::states` counts, in the memory of `state_device`.
  virtual std::vector<std::vector<RunState>> state() = 0;
  /// Device in whose memory the state lies; memory of the host where the state is offloaded.
  virtual Device& state_device() = 0;
};

/// The optimizer the configuration names, with the state of all that is updated: `runs`, in the
/// memory of the backend's device, as their state is unless `place` says otherwise. The same
/// numbers wherever it is. `groups`: of each part of the model, for rules that need more than an
/// element (`is_whole_update`), whose steps are Collective over them; they outlive the optimizer.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config,
                                          std::vector<ParameterRun> runs, Arena& arena,
                                          const Backend& backend,
                                          StatePlace place = StatePlace::device,
                                          std::vector<UpdateGroups> groups = {});

/// Factor that brings gradients of norm `norm` to at most `clip`; 1 when `clip` is 0.
double clip_factor(double norm, double clip);

}  // namespace pptrain
