#include <cmath>
#include <type_traits>

#include "cuda/kernels.hpp"
#include "cuda/packs.hpp"
#include "kernels/bodies/optimizer.hpp"
#include "kernels/typed_rows.hpp"

namespace pptrain {

using namespace cuda;
using namespace kernels;

namespace {

template <class T>
struct AdamWPacks : bodies::AdamW<T> {
  template <unsigned N>
  PPTRAIN_FUNCTION void apply(std::size_t, std::size_t i) const {
    Pack<float, N> p(this->parameter + i), first(this->m + i), second(this->v + i);
    const Pack<float, N> g(this->gradient + i);
    Pack<T, N> rounded;
    bodies::AdamW<T> body = *this;
    body.parameter = p.values;
    body.gradient = g.values;
    body.m = first.values;
    body.v = second.values;
    body.copy = rounded.values;
    for (unsigned e = 0; e < N; ++e) body(e);
    p.store(this->parameter + i);
    first.store(this->m + i);
    second.store(this->v + i);
    if constexpr (!std::is_same_v<T, float>) rounded.store(this->copy + i);
  }
};

template <class T>
struct SgdPacks : bodies::Sgd<T> {
  template <unsigned N>
  PPTRAIN_FUNCTION void apply(std::size_t, std::size_t i) const {
    Pack<float, N> p(this->parameter + i);
    const Pack<float, N> g(this->gradient + i);
    Pack<T, N> rounded;
    bodies::Sgd<T> body = *this;
    body.parameter = p.values;
    body.gradient = g.values;
    body.copy = rounded.values;
    for (unsigned e = 0; e < N; ++e) body(e);
    p.store(this->parameter + i);
    if constexpr (!std::is_same_v<T, float>) rounded.store(this->copy + i);
  }
};

}  // namespace

void CudaKernels::adamw(float* parameter, const float* gradient, float* m, float* v, const Matrix& copy, std::size_t n,
                        const AdamWStep& step) {
  const bool aligned = n % 8 == 0 && is_aligned(parameter) && is_aligned(gradient) && is_aligned(m) && is_aligned(v) &&
                       is_aligned(copy.data);
  with_type(copy.type, [&](auto element) {
    using T = decltype(element);
    launch_packs<8>(device_.stream(), {1, n}, aligned,
                    AdamWPacks<T>{{parameter, gradient, m, v, static_cast<T*>(copy.data),
                                   1.0f - step.learning_rate * step.weight_decay,
                                   step.learning_rate / step.bias_correction1, step.beta1, step.beta2,
                                   1.0f / std::sqrt(step.bias_correction2), step.epsilon, step.gradient_scale}});
  });
}

void CudaKernels::sgd(float* parameter, const float* gradient, const Matrix& copy, std::size_t n, float learning_rate,
                      float gradient_scale) {
  const bool aligned = n % 8 == 0 && is_aligned(parameter) && is_aligned(gradient) && is_aligned(copy.data);
  with_type(copy.type, [&](auto element) {
    using T = decltype(element);
    launch_packs<8>(device_.stream(), {1, n}, aligned,
                    SgdPacks<T>{{parameter, gradient, static_cast<T*>(copy.data), learning_rate * gradient_scale}});
  });
}

}  // namespace pptrain
