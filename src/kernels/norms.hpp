#pragma once

#include "model/forms.hpp"
#include "tensor/tensor.hpp"

namespace pptrain {

/// sum = x + y + bias, then normalised = the norm of sum. Heads of d elements side by side, (R,
/// heads * d) without gaps, are given as (R * heads, d).
struct ResidualNormCall {
  NormForm form;
  Matrix x;             ///< (R, H) f32 or of the type of `normalised`
  Matrix y;             ///< (R, H) f32; null data: sum = x, nothing is added or written
  const float* bias;    ///< (H); null: none is added
  Matrix sum;           ///< (R, H) of x's type
  const float* gain;    ///< (H)
  const float* offset;  ///< (H); null: none, always so of an RMSNorm
  Matrix normalised;    ///< (R, H) T
  float* mean;          ///< (R); null of an RMSNorm and of no other
  float* rstd;          ///< (R), one over the deviation
};

/// dx = residual_gradient + dnorm/dx; adds to the gradients of gain and offset, and writes the
/// forward's normalised output again, which the weight gradient needs (recomputed, not stored).
struct NormBackwardCall {
  NormForm form;
  Matrix dnormalised;        ///< (R, H) T or f32
  Matrix x;                  ///< (R, H) the norm's input, f32 or T
  const float* mean;         ///< as the forward pass left it
  const float* rstd;         ///< as the forward pass left it
  const float* gain;         ///< (H)
  const float* offset;       ///< (H) or null
  Matrix residual_gradient;  ///< (R, H) f32 or null data
  Matrix dx;  ///< (R, H) of x's type; may be residual_gradient or dnormalised where types are equal
  float* dgain;       ///< (H)
  float* doffset;     ///< (H); null: it is not computed
  Matrix normalised;  ///< (R, H) T or null data
};

/// Norms over the columns of each row, and what is added to the residual stream.
class NormKernels {
 public:
  virtual ~NormKernels() = default;
  /// Adds to the residual stream and normalises the sum.
  virtual void residual_norm_forward(const ResidualNormCall& norm) = 0;
  /// The gradients of a norm.
  virtual void norm_backward(const NormBackwardCall& norm) = 0;
  /// out = x + y + bias; all (R, H) f32. bias (H), or null: none.
  virtual void residual_add(const Matrix& x, const Matrix& y, const float* bias,
                            const Matrix& out) = 0;
};

}  // namespace pptrain
