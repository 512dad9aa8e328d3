#include <cmath>

#include "kernels/bodies/update_steps.hpp"
#include "optim/optimizer_steps.hpp"

namespace pptrain::optimizer_steps {
namespace {

ElementStep adamw_step(const OptimizerConfig& config, const StepValues& values, Kernels& kernels) {
  const double number = static_cast<double>(values.step) + 1.0;
  AdamWStep step = {};
  step.learning_rate = static_cast<float>(values.learning_rate);
  step.beta1 = static_cast<float>(config.beta1);
  step.beta2 = static_cast<float>(config.beta2);
  step.epsilon = static_cast<float>(config.epsilon);
  step.gradient_scale = static_cast<float>(values.gradient_scale);
  step.bias_correction1 = static_cast<float>(1.0 - std::pow(config.beta1, number));
  step.bias_correction2 = static_cast<float>(1.0 - std::pow(config.beta2, number));
  return [step, &kernels](const UpdateRun* runs, std::size_t count) {
    return kernels.update(runs, count, step);
  };
}

}  // namespace

OptimizerSteps adamw() { return {.by_element = adamw_step}; }

}  // namespace pptrain::optimizer_steps
