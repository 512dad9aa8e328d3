#include "kernels/bodies/optimizer.hpp"

#include <cmath>

#include "kernels/host_kernels.hpp"
#include "kernels/launch.hpp"

namespace pptrain {

using namespace kernels;

void HostKernels::adamw(float* parameter, const float* gradient, float* m, float* v, const Matrix& copy, std::size_t n,
                        const AdamWStep& step) {
  with_type(copy.type, [&](auto element) {
    using T = decltype(element);
    launch_elements("adamw", n,
                    bodies::AdamW<T>{parameter, gradient, m, v, static_cast<T*>(copy.data),
                                     1.0f - step.learning_rate * step.weight_decay,
                                     step.learning_rate / step.bias_correction1, step.beta1, step.beta2,
                                     1.0f / std::sqrt(step.bias_correction2), step.epsilon, step.gradient_scale});
  });
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
