#include <cmath>

#include "cuda/kernels.hpp"
#include "cuda/packs.hpp"
#include "kernels/bodies/optimizer.hpp"

namespace pptrain {

using namespace cuda;
using namespace kernels;

namespace {

template <bool Copies>
struct AdamWPacks : bodies::AdamW<Copies> {
  template <unsigned N>
  PPTRAIN_FUNCTION void apply(std::size_t, std::size_t i) const {
    Pack<float, N> p(this->parameter + i), first(this->m + i), second(this->v + i);
    const Pack<float, N> g(this->gradient + i);
    Pack<BFloat16, N> rounded;
    bodies::AdamW<Copies> body = *this;
    body.parameter = p.values;
    body.gradient = g.values;
    body.m = first.values;
    body.v = second.values;
    body.copy = rounded.values;
    for (unsigned e = 0; e < N; ++e) body(e);
    p.store(this->parameter + i);
    first.store(this->m + i);
    second.store(this->v + i);
    if constexpr (Copies) rounded.store(this->copy + i);
  }
};

template <bool Copies>
struct SgdPacks : bodies::Sgd<Copies> {
  template <unsigned N>
  PPTRAIN_FUNCTION void apply(std::size_t, std::size_t i) const {
    Pack<float, N> p(this->parameter + i);
    const Pack<float, N> g(this->gradient + i);
    Pack<BFloat16, N> rounded;
    bodies::Sgd<Copies> body = *this;
    body.parameter = p.values;
    body.gradient = g.values;
    body.copy = rounded.values;
    for (unsigned e = 0; e < N; ++e) body(e);
    p.store(this->parameter + i);
    if constexpr (Copies) rounded.store(this->copy + i);
  }
};

}  // namespace

void CudaKernels::adamw(float* parameter, const float* gradient, float* m, float* v, BFloat16* copy, std::size_t n,
                        const AdamWStep& step) {
  const bool aligned =
      n % 8 == 0 && is_aligned(parameter) && is_aligned(gradient) && is_aligned(m) && is_aligned(v) && is_aligned(copy);
  const auto launch_with = [&](auto copies) {
    constexpr bool has_copy = decltype(copies)::value;
    launch_packs<8>(
        device_.stream(), {1, n}, aligned,
        AdamWPacks<has_copy>{{parameter, gradient, m, v, copy, 1.0f - step.learning_rate * step.weight_decay,
                              step.learning_rate / step.bias_correction1, step.beta1, step.beta2,
                              1.0f / std::sqrt(step.bias_correction2), step.epsilon, step.gradient_scale}});
  };
  if (copy == nullptr) {
    launch_with(std::false_type());
  } else {
    launch_with(std::true_type());
  }
}

void CudaKernels::sgd(float* parameter, const float* gradient, BFloat16* copy, std::size_t n, float learning_rate,
                      float gradient_scale) {
  const bool aligned = n % 8 == 0 && is_aligned(parameter) && is_aligned(gradient) && is_aligned(copy);
  const float step_size = learning_rate * gradient_scale;
  if (copy == nullptr) {
    launch_packs<8>(device_.stream(), {1, n}, aligned, SgdPacks<false>{{parameter, gradient, copy, step_size}});
  } else {
    launch_packs<8>(device_.stream(), {1, n}, aligned, SgdPacks<true>{{parameter, gradient, copy, step_size}});
  }
}

}  // namespace pptrain
