#pragma once

#include <memory>

#include "kernels/gemm.hpp"

namespace pptrain::kernels {

/// Products by sgemm. 16-bit operands are converted to f32 a block at a time, into scratch of at most
/// 12 MiB that lives as long as this object.
class BlockedGemm {
 public:
  void multiply(Transpose ta, const Matrix& a, Transpose tb, const Matrix& b, const Matrix& c,
                const GemmOptions& options);

 private:
  struct Aligned {
    void operator()(float* block) const;
  };
  /// Scratch of one operand; grows to its largest block.
  class Scratch {
   public:
    float* of(std::size_t elements);

   private:
    std::unique_ptr<float[], Aligned> data_;
    std::size_t elements_ = 0;
  };

  void multiply_f32(Transpose ta, const Matrix& a, Transpose tb, const Matrix& b, const Matrix& c,
                    const GemmOptions& options);
  /// The block as f32: itself, or a copy in `scratch`.
  static Matrix as_f32(const Matrix& block, Scratch& scratch);

  Scratch a_, b_, c_;
};

}  // namespace pptrain::kernels
