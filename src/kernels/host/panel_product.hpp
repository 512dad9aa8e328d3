#pragma once

#include <cstddef>

/// Products of matrices that fit in the first caches, as attention's, without the preparation that
/// a library makes for large ones: the caller lays out B, and skips what a mask makes zero.
namespace pptrain::kernels {

constexpr std::size_t panel_width = 16;  ///< columns of B and C handled together
constexpr std::size_t panel_rows = 6;    ///< most rows of A and C handled together

constexpr std::size_t round_up(std::size_t n, std::size_t step) {
  return (n + step - 1) / step * step;
}

/// A: element (row, term) at data[row * row_stride + term * term_stride].
struct LeftOperand {
  const float* data;
  std::size_t row_stride, term_stride;
};

/// B: element (term, column) at data[column / 16 * panel_stride + term * term_stride + column %
/// 16].
struct PanelOperand {
  const float* data;
  std::size_t panel_stride, term_stride;
};

/// Sizes of a product: at most 6 rows, panels of C, and terms of each sum.
struct PanelSizes {
  std::size_t rows, panels, terms;
};

/// C (rows, 16 * panels) = A (rows, terms) B (terms, 16 * panels), or C += with `accumulate`.
/// C's rows are `c_stride` apart.
void multiply_panels(const PanelSizes& sizes, const LeftOperand& a, const PanelOperand& b, float* c,
                     std::size_t c_stride, bool accumulate);

}  // namespace pptrain::kernels
