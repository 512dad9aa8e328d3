#pragma once

#include <cmath>
#include <cstddef>
#include <type_traits>

#include "base/bfloat16.hpp"

namespace pptrain::kernels::bodies {

/// AdamW (Loshchilov and Hutter, arXiv:1711.05101, algorithm 2), one element, with a copy of type T; float: none.
template <class T>
struct AdamW {
  float* parameter;
  const float* gradient;
  float *m, *v;
  T* copy;
  float decay;      // 1 - learning rate * weight decay
  float step_size;  // learning rate / bias correction 1
  float beta1, beta2;
  float inverse_root;  // 1 / sqrt(bias correction 2)
  float epsilon;
  float gradient_scale;

  PPTRAIN_FUNCTION void operator()(std::size_t i) const {
    const float g = gradient[i] * gradient_scale;
    const float first = beta1 * m[i] + (1.0f - beta1) * g;
    const float second = beta2 * v[i] + (1.0f - beta2) * g * g;
    const float p = parameter[i] * decay - step_size * first / (std::sqrt(second) * inverse_root + epsilon);
    m[i] = first;
    v[i] = second;
    parameter[i] = p;
    if constexpr (!std::is_same_v<T, float>) store(copy[i], p);
  }
};

template <class T>
struct Sgd {
  float* parameter;
  const float* gradient;
  T* copy;
  float step_size;  // learning rate * gradient scale

  PPTRAIN_FUNCTION void operator()(std::size_t i) const {
    const float p = parameter[i] - step_size * gradient[i];
    parameter[i] = p;
    if constexpr (!std::is_same_v<T, float>) store(copy[i], p);
  }
};

}  // namespace pptrain::kernels::bodies
