#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "config/config.hpp"
#include "kernels/kernels.hpp"
#include "optim/whole_update.hpp"

namespace pptrain {

/// A step of optimizers that update every element by itself: of the first of `count` runs as many
/// as the device updates in one go. Returns how many.
using ElementStep = std::function<std::size_t(const UpdateRun* runs, std::size_t count)>;

/// How an optimizer steps: by element, or with more of a parameter than a device holds of it. The
/// other member is null.
struct OptimizerSteps {
  /// The step with the numbers of `values`.
  ElementStep (*by_element)(const OptimizerConfig& config, const StepValues& values,
                            Kernels& kernels) = nullptr;
  /// Makes what updates `runs` of one part of the device's model, which `groups` outlive.
  std::unique_ptr<WholeUpdate> (*whole)(const WholeContext& context, const UpdateGroups& groups,
                                        std::vector<WholeRun> runs) = nullptr;
};

/// The steps of each optimizer, in a file with the optimizer's name.
namespace optimizer_steps {

#define PPTRAIN_STEPS(name) OptimizerSteps name();
PPTRAIN_FOR_EACH_OPTIMIZER(PPTRAIN_STEPS)
#undef PPTRAIN_STEPS

}  // namespace optimizer_steps

OptimizerSteps steps_of(OptimizerKind optimizer);

}  // namespace pptrain
