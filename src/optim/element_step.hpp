#pragma once

#include <functional>

#include "config/config.hpp"
#include "kernels/kernels.hpp"
#include "model/update_rule.hpp"
#include "optim/optimizer.hpp"

namespace pptrain {

/// A step of optimizers that update every element by itself: of the first of `count` runs as many as the device updates
/// in one go. Returns how many.
using ElementStep = std::function<std::size_t(const UpdateRun* runs, std::size_t count)>;

/// The step of one method, with the numbers of `values`.
ElementStep element_step(UpdateMethod method, const OptimizerConfig& config, const StepValues& values,
                         Kernels& kernels);

}  // namespace pptrain
