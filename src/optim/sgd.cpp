#include "kernels/bodies/update_steps.hpp"
#include "optim/optimizer_steps.hpp"

namespace pptrain::optimizer_steps {
namespace {

ElementStep sgd_step(const OptimizerConfig& config, const StepValues& values, Kernels& kernels) {
  const auto update = [&kernels](const auto& step) -> ElementStep {
    return [step, &kernels](const UpdateRun* runs, std::size_t count) {
      return kernels.update(runs, count, step);
    };
  };
  const auto rate = static_cast<float>(values.learning_rate);
  const auto scale = static_cast<float>(values.gradient_scale);
  if (config.momentum == 0.0) return update(SgdStep{rate, scale});
  return update(MomentumStep{rate, static_cast<float>(config.momentum), scale, config.nesterov});
}

}  // namespace

OptimizerSteps sgd() { return {.by_element = sgd_step}; }

}  // namespace pptrain::optimizer_steps
