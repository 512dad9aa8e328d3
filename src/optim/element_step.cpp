#include "optim/element_step.hpp"

#include <cmath>

#include "base/error.hpp"

namespace pptrain {
namespace {

ElementStep adamw(const OptimizerConfig& config, const StepValues& values, Kernels& kernels) {
  const double number = static_cast<double>(values.step) + 1.0;
  AdamWStep step = {};
  step.learning_rate = static_cast<float>(values.learning_rate);
  step.beta1 = static_cast<float>(config.beta1);
  step.beta2 = static_cast<float>(config.beta2);
  step.epsilon = static_cast<float>(config.epsilon);
  step.gradient_scale = static_cast<float>(values.gradient_scale);
  step.bias_correction1 = static_cast<float>(1.0 - std::pow(config.beta1, number));
  step.bias_correction2 = static_cast<float>(1.0 - std::pow(config.beta2, number));
  return [step, &kernels](const UpdateRun* runs, std::size_t count) { return kernels.adamw(runs, count, step); };
}

ElementStep sgd(const OptimizerConfig& config, const StepValues& values, Kernels& kernels) {
  SgdStep step = {};
  step.learning_rate = static_cast<float>(values.learning_rate);
  step.momentum = static_cast<float>(config.momentum);
  step.gradient_scale = static_cast<float>(values.gradient_scale);
  step.nesterov = config.nesterov;
  return [step, &kernels](const UpdateRun* runs, std::size_t count) { return kernels.sgd(runs, count, step); };
}

ElementStep lion(const OptimizerConfig& config, const StepValues& values, Kernels& kernels) {
  LionStep step = {};
  step.learning_rate = static_cast<float>(values.learning_rate);
  step.beta1 = static_cast<float>(config.beta1);
  step.beta2 = static_cast<float>(config.beta2);
  step.gradient_scale = static_cast<float>(values.gradient_scale);
  return [step, &kernels](const UpdateRun* runs, std::size_t count) { return kernels.lion(runs, count, step); };
}

}  // namespace

ElementStep element_step(UpdateMethod method, const OptimizerConfig& config, const StepValues& values,
                         Kernels& kernels) {
  switch (method) {
    case UpdateMethod::adamw: return adamw(config, values, kernels);
    case UpdateMethod::sgd: return sgd(config, values, kernels);
    case UpdateMethod::lion: return lion(config, values, kernels);
    case UpdateMethod::adafactor:
    case UpdateMethod::muon: break;
  }
  PPTRAIN_ASSERT(false, "method {} does not update elements by themselves", static_cast<int>(method));
}

}  // namespace pptrain
