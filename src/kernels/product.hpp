#pragma once

#include "kernels/gemm.hpp"
#include "kernels/kernels.hpp"

/// What the products of all devices share.
namespace pptrain::kernels {

/// Fails where the sizes or options do not fit together.
void check_product(Transpose ta, const Matrix& a, Transpose tb, const Matrix& b, const Matrix& c,
                   const GemmOptions& options);

/// Behind a product with its bias: GELU, its backward pass and the gradient of a bias, as far as
/// `options` name them, by kernels of their own.
void finish_product(Kernels& kernels, const Matrix& a, const Matrix& c, const GemmOptions& options);

}  // namespace pptrain::kernels
