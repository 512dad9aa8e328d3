#pragma once

#ifdef PPTRAIN_HAVE_ONEDNN

#include <dnnl.hpp>
#include <map>
#include <string>
#include <tuple>

#include "kernels/gemm.hpp"

namespace pptrain::kernels {

/// oneDNN's matmul primitives, made once per shape, strides, types and options and kept.
///
/// They serve bf16 where the processor multiplies it in hardware; f32 runs everywhere.
class OneDnnMatmul {
 public:
  OneDnnMatmul();

  void multiply(Transpose ta, const Matrix& a, Transpose tb, const Matrix& b, const Matrix& c,
                const GemmOptions& options);

  /// Whether this processor multiplies bf16 (AVX-512 BF16 or AMX).
  static bool has_bf16();
  /// "oneDNN 2.6.3 (avx2)".
  static std::string name();

 private:
  /// Rows, columns, stride and type of one operand as it is stored.
  using Layout = std::tuple<std::size_t, std::size_t, std::size_t, DType>;
  using Key = std::tuple<Transpose, Layout, Transpose, Layout, Layout, bool, bool>;
  struct Product {
    dnnl::matmul primitive;
    dnnl::memory a, b, c, bias;
  };

  Product make(Transpose ta, const Matrix& a, Transpose tb, const Matrix& b, const Matrix& c,
               const GemmOptions& options) const;

  dnnl::engine engine_;
  dnnl::stream stream_;
  std::map<Key, Product> products_;
};

}  // namespace pptrain::kernels

#endif
