#include "kernels/host/panel_product.hpp"

#include <array>
#include <cstring>

namespace pptrain::kernels {
namespace {

/// Half a row of a panel. 6 rows of two such vectors take 12 of AVX2's 16 registers and give its
/// two multipliers enough independent sums.
using Vector = float __attribute__((vector_size(32)));

Vector load(const float* from) {
  Vector v;
  std::memcpy(&v, from, sizeof(Vector));
  return v;
}

void store(const Vector& v, float* to) { std::memcpy(to, &v, sizeof(Vector)); }

/// One panel. The sums stay in registers, which needs all loops over rows unrolled.
template <std::size_t Rows, bool Accumulate>
void multiply_panel(std::size_t terms, const LeftOperand& a, const float* b, std::size_t b_stride,
                    float* c, std::size_t c_stride) {
  Vector low[Rows], high[Rows];
#pragma GCC unroll 6
  for (std::size_t r = 0; r < Rows; ++r) {
    low[r] = Accumulate ? load(c + r * c_stride) : Vector{};
    high[r] = Accumulate ? load(c + r * c_stride + 8) : Vector{};
  }
  const float* left = a.data;
  const std::size_t row_stride = a.row_stride, term_stride = a.term_stride;
  for (const float* end = b + terms * b_stride; b != end; b += b_stride, left += term_stride) {
    const Vector b_low = load(b), b_high = load(b + 8);
#pragma GCC unroll 6
    for (std::size_t r = 0; r < Rows; ++r) {
      const float factor = left[r * row_stride];
      low[r] += factor * b_low;
      high[r] += factor * b_high;
    }
  }
#pragma GCC unroll 6
  for (std::size_t r = 0; r < Rows; ++r) {
    store(low[r], c + r * c_stride);
    store(high[r], c + r * c_stride + 8);
  }
}

template <std::size_t Rows, bool Accumulate>
void multiply_row_of_panels(std::size_t panels, std::size_t terms, const LeftOperand& a,
                            const PanelOperand& b, float* c, std::size_t c_stride) {
  for (std::size_t panel = 0; panel < panels; ++panel) {
    multiply_panel<Rows, Accumulate>(terms, a, b.data + panel * b.panel_stride, b.term_stride,
                                     c + panel * panel_width, c_stride);
  }
}

template <bool Accumulate>
constexpr std::array by_rows{
    multiply_row_of_panels<1, Accumulate>, multiply_row_of_panels<2, Accumulate>,
    multiply_row_of_panels<3, Accumulate>, multiply_row_of_panels<4, Accumulate>,
    multiply_row_of_panels<5, Accumulate>, multiply_row_of_panels<6, Accumulate>};

}  // namespace

void multiply_panels(const PanelSizes& sizes, const LeftOperand& a, const PanelOperand& b, float* c,
                     std::size_t c_stride, bool accumulate) {
  (accumulate ? by_rows<true> : by_rows<false>)[sizes.rows - 1](sizes.panels, sizes.terms, a, b, c,
                                                                c_stride);
}

}  // namespace pptrain::kernels
