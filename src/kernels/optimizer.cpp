#include "kernels/bodies/optimizer.hpp"

#include <cmath>

#include "kernels/host_kernels.hpp"
#include "kernels/launch.hpp"

namespace pptrain {

using namespace kernels;

namespace {

template <bool Copies>
void launch_adamw(float* parameter, const float* gradient, float* m, float* v, BFloat16* copy, std::size_t n,
                  const AdamWStep& step) {
  launch_elements("adamw", n,
                  bodies::AdamW<Copies>{parameter, gradient, m, v, copy, 1.0f - step.learning_rate * step.weight_decay,
                                        step.learning_rate / step.bias_correction1, step.beta1, step.beta2,
                                        1.0f / std::sqrt(step.bias_correction2), step.epsilon, step.gradient_scale});
}

}  // namespace

void HostKernels::adamw(float* parameter, const float* gradient, float* m, float* v, BFloat16* copy, std::size_t n,
                        const AdamWStep& step) {
  if (copy == nullptr) {
    launch_adamw<false>(parameter, gradient, m, v, copy, n, step);
  } else {
    launch_adamw<true>(parameter, gradient, m, v, copy, n, step);
  }
}

void HostKernels::sgd(float* parameter, const float* gradient, BFloat16* copy, std::size_t n, float learning_rate,
                      float gradient_scale) {
  const float step_size = learning_rate * gradient_scale;
  if (copy == nullptr) {
    launch_elements("sgd", n, bodies::Sgd<false>{parameter, gradient, copy, step_size});
  } else {
    launch_elements("sgd", n, bodies::Sgd<true>{parameter, gradient, copy, step_size});
  }
}

}  // namespace pptrain
