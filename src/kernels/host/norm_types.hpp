#pragma once

#include "kernels/bodies/norm.hpp"
#include "kernels/bodies/typed_rows.hpp"
#include "kernels/kernels.hpp"

/// Takes the arguments of norms to the bodies of their types. C++17.
namespace pptrain::kernels {

/// Fails where the arguments do not fit the form: the mean of a LayerNorm, none and no offset of an
/// RMSNorm; x of fp32, or of the type of what is computed from it.
void check_norm(const NormForm& form, const Matrix& x, const Matrix& normalised, const float* mean,
                const float* offset);

inline bodies::NormWeights norm_weights(const NormForm& form, const float* gain,
                                        const float* offset) {
  return {gain, offset, form.one_plus ? 1.0f : 0.0f};
}

/// f(X(), T()) for the element types of a norm's input and output. An input of 16 bits has an
/// output of its type.
template <class F>
void with_norm_types(const Matrix& x, const Matrix& normalised, const F& f) {
  if (x.type == DType::f32) {
    with_type(normalised.type, [&](auto element) { f(float(), element); });
  } else {
    with_narrow_type(x.type, [&](auto element) { f(element, element); });
  }
}

/// f(D(), X(), T()) with D of the gradient as well, which is fp32 or, of an input of 16 bits, that
/// input's.
template <class F>
void with_norm_types(const Matrix& dnormalised, const Matrix& x, const Matrix& normalised,
                     const F& f) {
  if (x.type == DType::f32) {
    with_type(dnormalised.type, [&](auto gradient) {
      with_type(normalised.type, [&](auto element) { f(gradient, float(), element); });
    });
  } else {
    with_narrow_type(x.type, [&](auto element) {
      if (dnormalised.type == DType::f32) {
        f(float(), element, element);
      } else {
        f(element, element, element);
      }
    });
  }
}

}  // namespace pptrain::kernels
