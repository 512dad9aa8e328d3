#pragma once

#include "kernels/gemm.hpp"
#include "kernels/host/host_scratch.hpp"

namespace pptrain::kernels {

/// Products by sgemm. 16-bit operands are converted to f32 a block at a time, into scratch of at
/// most 12 MiB that lives as long as this object.
class BlockedGemm {
 public:
  /// C = op(A) op(B) as in `Gemm::multiply`. Of the options `accumulate` and `bias` count, the
  /// others are left to the caller.
  void multiply(Transpose ta, const Matrix& a, Transpose tb, const Matrix& b, const Matrix& c,
                const GemmOptions& options);

 private:
  void multiply_f32(Transpose ta, const Matrix& a, Transpose tb, const Matrix& b, const Matrix& c,
                    const GemmOptions& options);
  /// The block as f32: itself, or a copy in `scratch`.
  static Matrix as_f32(const Matrix& block, HostScratch& scratch);

  HostScratch a_, b_, c_;
};

}  // namespace pptrain::kernels
