#pragma once

#include <cstddef>

#include "kernels/gemm.hpp"

namespace pptrain::kernels {

/// A matrix as sgemm reads it: f32, row-major as stored, before `transpose`.
struct SgemmOperand {
  const float* data;
  std::size_t stride;
  Transpose transpose = Transpose::no;
};

/// C (m, n) = op(A) (m, k) op(B) (k, n), or C += with `accumulate`, on one thread by oneDNN or
/// OpenBLAS. Which of them is fixed by the shape, so two runs agree bit for bit.
void sgemm(std::size_t m, std::size_t n, std::size_t k, const SgemmOperand& a, const SgemmOperand& b, float* c,
           std::size_t c_stride, bool accumulate);

}  // namespace pptrain::kernels
