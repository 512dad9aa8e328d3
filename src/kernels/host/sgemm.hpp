#pragma once

#include <cstddef>
#include <string>

#include "kernels/gemm.hpp"

namespace pptrain::kernels {

/// A matrix as sgemm reads it: f32, row-major as stored, before `transpose`.
struct SgemmOperand {
  const float* data;
  std::size_t stride;
  Transpose transpose = Transpose::no;
};

/// Sizes of a product.
struct SgemmSizes {
  std::size_t m, n, k;
};

/// C (m, n) = op(A) (m, k) op(B) (k, n), or C += with `accumulate`, on one thread by oneDNN or
/// OpenBLAS. Which of them is fixed by the shape and the processor, so two runs on one kind agree
/// bit for bit.
void sgemm(const SgemmSizes& sizes, const SgemmOperand& a, const SgemmOperand& b, float* c,
           std::size_t c_stride, bool accumulate);

/// OpenBLAS with the processor that its kernels are for, as "OpenBLAS (Haswell)"; "" where it is
/// not used, since it is not there, or does not know this processor and oneDNN is there.
std::string openblas_name();

}  // namespace pptrain::kernels
