#include "kernels/host/blocked_gemm.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "kernels/host/launch.hpp"
#include "kernels/host/sgemm.hpp"
#include "kernels/kernels.hpp"

namespace pptrain::kernels {
namespace {

/// Side of a converted block: 4 MiB of f32, large enough that sgemm runs at its full rate.
constexpr std::size_t block_side = 1024;

/// Rows [row, row + rows) and columns [column, column + columns) of op(matrix), as stored.
Matrix block_of(const Matrix& matrix, Transpose transpose, std::size_t row, std::size_t rows,
                std::size_t column, std::size_t columns) {
  if (transpose == Transpose::yes) return matrix.rows_from(column, columns).columns_from(row, rows);
  return matrix.rows_from(row, rows).columns_from(column, columns);
}

void fill_rows(const Matrix& c, const float* bias) {
  for (std::size_t row = 0; row < c.rows; ++row)
    std::memcpy(c.at<float>(row), bias, c.columns * sizeof(float));
}

}  // namespace

Matrix BlockedGemm::as_f32(const Matrix& block, HostScratch& scratch) {
  if (block.type == DType::f32) return block;
  const Matrix copy(scratch.take<float>(block.rows * block.columns), block.rows, block.columns);
  host_kernels().convert(block, copy);
  return copy;
}

void BlockedGemm::multiply_f32(Transpose ta, const Matrix& a, Transpose tb, const Matrix& b,
                               const Matrix& c, const GemmOptions& options) {
  const std::size_t k = ta == Transpose::yes ? a.rows : a.columns;
  if (options.bias != nullptr) fill_rows(c, options.bias);
  sgemm({c.rows, c.columns, k}, {a.f32(), a.stride, ta}, {b.f32(), b.stride, tb}, c.f32(), c.stride,
        options.accumulate || options.bias != nullptr);
}

void BlockedGemm::multiply(Transpose ta, const Matrix& a, Transpose tb, const Matrix& b,
                           const Matrix& c, const GemmOptions& options) {
  if (a.type == DType::f32 && b.type == DType::f32 && c.type == DType::f32) {
    multiply_f32(ta, a, tb, b, c, options);
    return;
  }
  const std::size_t k = ta == Transpose::yes ? a.rows : a.columns;
  for (std::size_t column = 0; column < c.columns; column += block_side) {
    const std::size_t columns = std::min(block_side, c.columns - column);
    for (std::size_t row = 0; row < c.rows; row += block_side) {
      const std::size_t rows = std::min(block_side, c.rows - row);
      const Matrix target = block_of(c, Transpose::no, row, rows, column, columns);
      const Matrix sum = target.type == DType::f32
                             ? target
                             : Matrix(c_.take<float>(rows * columns), rows, columns);
      if (options.accumulate && target.type != DType::f32) host_kernels().convert(target, sum);
      GemmOptions part{options.accumulate,
                       options.bias == nullptr ? nullptr : options.bias + column};
      for (std::size_t inner = 0; inner < std::max<std::size_t>(k, 1); inner += block_side) {
        const std::size_t depth = std::min(block_side, k - inner);
        multiply_f32(ta, as_f32(block_of(a, ta, row, rows, inner, depth), a_), tb,
                     as_f32(block_of(b, tb, inner, depth, column, columns), b_), sum, part);
        part = {true, nullptr};
      }
      if (target.type != DType::f32) host_kernels().convert(sum, target);
    }
  }
}

}  // namespace pptrain::kernels
