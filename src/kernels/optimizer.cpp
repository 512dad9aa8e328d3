#include "kernels/bodies/optimizer.hpp"

#include <cmath>

#include "kernels/host_kernels.hpp"
#include "kernels/launch.hpp"

namespace pptrain {

using namespace kernels;

std::size_t HostKernels::adamw(const AdamWRun* runs, std::size_t /*count*/, const AdamWStep& step) {
  const AdamWRun& run = *runs;
  with_type(run.copy.type, [&](auto element) {
    using T = decltype(element);
    launch_elements("adamw", run.size,
                    bodies::AdamW<T>{run.parameter, run.gradient, run.m, run.v, static_cast<T*>(run.copy.data),
                                     1.0f - step.learning_rate * run.weight_decay,
                                     step.learning_rate / step.bias_correction1, step.beta1, step.beta2,
                                     1.0f / std::sqrt(step.bias_correction2), step.epsilon, step.gradient_scale});
  });
  return 1;
}

void HostKernels::sgd(float* parameter, const float* gradient, const Matrix& copy, std::size_t n, float learning_rate,
                      float gradient_scale) {
  with_type(copy.type, [&](auto element) {
    using T = decltype(element);
    launch_elements("sgd", n,
                    bodies::Sgd<T>{parameter, gradient, static_cast<T*>(copy.data), learning_rate * gradient_scale});
  });
}

}  // namespace pptrain
