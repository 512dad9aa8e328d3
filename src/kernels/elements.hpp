#pragma once

#include <cstdint>

#include "kernels/dropout_mask.hpp"
#include "tensor/tensor.hpp"

namespace pptrain {

/// A run of elements of which a sum is formed.
struct ValueRun {
  const float* values = nullptr;
  std::size_t size = 0;
};

/// Sums, copies and scalings of elements and columns.
class ElementKernels {
 public:
  virtual ~ElementKernels() = default;
  /// gradient[c] += sum over rows of d (R, C), T or f32: the gradient of a bias.
  virtual void add_column_sums(const Matrix& d, float* gradient) = 0;
  /// gradient[c] += sum over rows of d (R, C) f32, and converted (R, C) = d in 16 bits: the
  /// gradient of a bias, and what the product before it reads.
  virtual void add_column_sums_and_convert(const Matrix& d, float* gradient,
                                           const Matrix& converted) = 0;
  /// out[r][c] = table[r][source[c]]; table (R, B), out (R, C) f32, source (C) less than B.
  virtual void spread_columns(const Matrix& table, const std::int32_t* source,
                              const Matrix& out) = 0;
  /// The gradient of the table: table[r][b] = the sum of x[r][c] over the columns with source[c] =
  /// b, in their order.
  virtual void collect_columns(const Matrix& x, const std::int32_t* source,
                               const Matrix& table) = 0;

  /// y += x, n elements.
  virtual void add(const float* x, float* y, std::size_t n) = 0;
  /// x *= factor.
  virtual void scale(float* x, float factor, std::size_t n) = 0;
  /// x[i] = 0 where the mask drops it, else x[i] / (1 - rate), n elements.
  virtual void dropout(float* x, std::size_t n, const DropoutMask& mask) = 0;
  /// *sum += the squares of n elements, in double.
  void sum_of_squares(const float* x, std::size_t n, double* sum) {
    const ValueRun run = {x, n};
    sums_of_squares(&run, 1, sum);
  }
  /// *sum += the squares of `count` runs, in their order, in double.
  virtual void sums_of_squares(const ValueRun* runs, std::size_t count, double* sum) = 0;
  /// T to T' element by element.
  virtual void convert(const Matrix& from, const Matrix& to) = 0;
  /// Sets n elements to 0.
  virtual void fill_zero(float* x, std::size_t n) = 0;
};

}  // namespace pptrain
