#include "kernels/bodies/update_steps.hpp"
#include "optim/optimizer_steps.hpp"

namespace pptrain::optimizer_steps {
namespace {

ElementStep lion_step(const OptimizerConfig& config, const StepValues& values, Kernels& kernels) {
  LionStep step = {};
  step.learning_rate = static_cast<float>(values.learning_rate);
  step.beta1 = static_cast<float>(config.beta1);
  step.beta2 = static_cast<float>(config.beta2);
  step.gradient_scale = static_cast<float>(values.gradient_scale);
  return [step, &kernels](const UpdateRun* runs, std::size_t count) {
    return kernels.update(runs, count, step);
  };
}

}  // namespace

OptimizerSteps lion() { return {.by_element = lion_step}; }

}  // namespace pptrain::optimizer_steps
