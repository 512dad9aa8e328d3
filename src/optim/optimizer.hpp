#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "kernels/kernels.hpp"
#include "tensor/tensor.hpp"

namespace pptrain {

/// A run of elements that are treated alike; they stay where they are as long as the optimizer lives.
struct ParameterRun {
  float* weights = nullptr;
  const float* gradients = nullptr;
  Matrix copies;  ///< the weights in 16 bits, or nothing
  std::size_t size = 0;
  bool decays = false;
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
  host,  ///< offloaded: in memory of the host, from which a step fetches it and to which it sends it back
};

/// Updates weights from gradients.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// `updated(r)` is called behind each run r, in order.
  virtual void step(const StepValues& values, const std::function<void(std::size_t run)>& updated) = 0;
  void step(const StepValues& values) {
    step(values, [](std::size_t) {});
  }
  /// What it keeps beside the weights, one value per element: state()[k][r] are the values of run r in its
  /// k-th quantity (AdamW: m, then v), in the memory of `state_device`. Empty where nothing is kept.
  virtual std::vector<std::vector<float*>> state() = 0;
  virtual Device& state_device() = 0;
};

/// The optimizer the configuration names, with the state of all that is updated: `runs`, in the memory of the kernels'
/// device, as their state is unless `place` says otherwise. The same numbers wherever it is.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config, std::vector<ParameterRun> runs, Arena& arena,
                                          Kernels& kernels, StatePlace place = StatePlace::device);

/// Names of what it keeps, as `Optimizer::state` counts: "m" and "v" of AdamW.
std::vector<std::string> state_names(const OptimizerConfig& config);

/// Factor that brings gradients of norm `norm` to at most `clip`; 1 when `clip` is 0.
double clip_factor(double norm, double clip);

}  // namespace pptrain
