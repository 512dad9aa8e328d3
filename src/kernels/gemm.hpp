#pragma once

#include <string>

#include "tensor/tensor.hpp"

namespace pptrain {

enum class Transpose { no, yes };

/// How a product is combined with what is in the output, and what is computed with it. What a
/// device's library fuses with the product runs there; the rest are kernels behind it
/// (kernels/product.hpp).
struct GemmOptions {
  bool accumulate = false;      ///< C += instead of C =
  const float* bias = nullptr;  ///< added to every row of C, `columns` values; not with accumulate
  /// With data, (m, n) of C's type: gets gelu(C), the tanh form, for C with its bias; not with
  /// accumulate.
  Matrix gelu = {};
  /// With data, (m, n) of C's type: C = op(A) op(B) gelu'(gelu_input), GELU's backward pass. Then
  /// `gelu` gets gelu(gelu_input) and may be gelu_input. Not with a bias.
  Matrix gelu_input = {};
  /// With ta = yes: the sums of A's columns are added to these m values, the gradient of a bias
  /// beside a weight's.
  float* bias_gradient = nullptr;
};

/// Matrix products of one device: C = op(A) op(B).
///
/// C is (m, n), op(A) (m, k), op(B) (k, n). Operands are f32, bf16 or f16, each its own; sums are
/// fp32. Hardware that multiplies bf16 does so where both operands are bf16; a mixed pair is
/// multiplied in f32. C may not overlap an operand. Equal calls give equal bits.
class Gemm {
 public:
  virtual ~Gemm() = default;
  /// Computes the product in the order of the device. Sizes or options that do not fit together
  /// abort.
  virtual void multiply(Transpose ta, const Matrix& a, Transpose tb, const Matrix& b,
                        const Matrix& c, const GemmOptions& options = {}) = 0;
  /// Name of the library and instruction set, for logs: "oneDNN 2.6.3 (avx2)".
  virtual std::string name() const = 0;
};

/// The host's products by oneDNN and OpenBLAS, chosen by shape, or by the one that is there. One
/// thread, for which the caller sets omp_set_num_threads(1). Lives as long as the program.
Gemm& host_gemm();

}  // namespace pptrain
