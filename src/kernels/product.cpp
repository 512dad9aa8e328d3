#include "kernels/product.hpp"

#include "base/error.hpp"

namespace pptrain::kernels {
namespace {

bool is_like(const Matrix& matrix, const Matrix& c) {
  return matrix.data == nullptr ||
         (matrix.rows == c.rows && matrix.columns == c.columns && matrix.type == c.type);
}

}  // namespace

void check_product(Transpose ta, const Matrix& a, Transpose tb, const Matrix& b, const Matrix& c,
                   const GemmOptions& options) {
  const std::size_t m = ta == Transpose::yes ? a.columns : a.rows,
                    k = ta == Transpose::yes ? a.rows : a.columns;
  const std::size_t depth = tb == Transpose::yes ? b.columns : b.rows,
                    n = tb == Transpose::yes ? b.rows : b.columns;
  PPTRAIN_ASSERT(m == c.rows && n == c.columns && k == depth,
                 "({}, {}) times ({}, {}) into ({}, {})", m, k, depth, n, c.rows, c.columns);
  const bool has_gelu = options.gelu.data != nullptr,
             has_gelu_input = options.gelu_input.data != nullptr;
  PPTRAIN_ASSERT((options.bias == nullptr && !has_gelu && !has_gelu_input) || !options.accumulate,
                 "a bias or GELU together with accumulation");
  PPTRAIN_ASSERT(!has_gelu_input || (has_gelu && options.bias == nullptr),
                 "GELU's backward pass without its value");
  PPTRAIN_ASSERT(is_like(options.gelu, c) && is_like(options.gelu_input, c),
                 "GELU of another size or type than C");
  PPTRAIN_ASSERT(options.bias_gradient == nullptr || ta == Transpose::yes,
                 "a bias's gradient from the rows of A");
}

void finish_product(Kernels& kernels, const Matrix& a, const Matrix& c,
                    const GemmOptions& options) {
  if (options.gelu_input.data != nullptr) {
    kernels.activation_backward(Activation::gelu_tanh, options.gelu_input, c, c, options.gelu);
  } else if (options.gelu.data != nullptr) {
    kernels.activation_forward(Activation::gelu_tanh, c, options.gelu);
  }
  if (options.bias_gradient != nullptr) kernels.add_column_sums(a, options.bias_gradient);
}

}  // namespace pptrain::kernels
