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

/// The body of a forward pass from X to T.
template <class X, class T>
bodies::ResidualNorm<X, T> residual_norm_body(const ResidualNormCall& norm) {
  return {read_rows<X>(norm.x),
          read_rows<float>(norm.y),
          norm.bias,
          write_rows<X>(norm.sum),
          norm_weights(norm.form, norm.gain, norm.offset),
          norm.form.epsilon,
          write_rows<T>(norm.normalised),
          norm.mean,
          norm.rstd,
          norm.x.columns};
}

/// The body of a backward pass from gradients in D, by rows.
template <class D, class X, class T>
bodies::NormBackward<D, X, T> norm_backward_body(const NormBackwardCall& norm) {
  return {read_rows<D>(norm.dnormalised),
          read_rows<X>(norm.x),
          norm.mean,
          norm.rstd,
          norm_weights(norm.form, norm.gain, norm.offset),
          read_rows<float>(norm.residual_gradient),
          write_rows<X>(norm.dx),
          write_rows<T>(norm.normalised),
          norm.x.columns};
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
