#include "kernels/bodies/elementwise.hpp"

#include <cstring>

#include "base/error.hpp"
#include "kernels/bodies/dropout.hpp"
#include "kernels/bodies/norm.hpp"
#include "kernels/bodies/rotary.hpp"
#include "kernels/host/host_kernels.hpp"
#include "kernels/host/launch.hpp"
#include "kernels/host/rotation.hpp"

namespace pptrain {

using namespace kernels;

namespace {

void check_same_size(const Matrix& from, const Matrix& to) {
  PPTRAIN_ASSERT(from.rows == to.rows && from.columns == to.columns, "{}x{} to {}x{}", from.rows,
                 from.columns, to.rows, to.columns);
}

}  // namespace

void HostKernels::add(const float* x, float* y, std::size_t n) {
  launch_elements("add", n, bodies::Add{x, y});
}

void HostKernels::scale(float* x, float factor, std::size_t n) {
  launch_elements("scale", n, bodies::Scale{x, factor});
}

void HostKernels::dropout(float* x, std::size_t n, const DropoutMask& mask) {
  const bodies::DropoutBlock body = bodies::DropoutBlock::of(x, n, mask);
  launch_elements("dropout", body.num_blocks(), body);
}

void HostKernels::fill_zero(float* x, std::size_t n) {
  if (n != 0) std::memset(x, 0, n * sizeof(float));
}

namespace {

double squares_of(const float* x, std::size_t n) {
  const std::size_t quarter = n / 4;
  double a = 0, b = 0, c = 0, d = 0;
  const auto square = [=](std::size_t i) {
    return static_cast<double>(x[i]) * static_cast<double>(x[i]);
  };
#pragma omp simd reduction(+ : a, b, c, d)
  for (std::size_t i = 0; i < quarter; ++i) {
    a += square(i);
    b += square(i + quarter);
    c += square(i + 2 * quarter);
    d += square(i + 3 * quarter);
  }
  double rest = 0;
  for (std::size_t i = 4 * quarter; i < n; ++i) rest += square(i);
  return ((a + b) + (c + d)) + rest;
}

}  // namespace

void HostKernels::sums_of_squares(const ValueRun* runs, std::size_t count, double* sum) {
  for (std::size_t r = 0; r < count; ++r) *sum += squares_of(runs[r].values, runs[r].size);
}

void HostKernels::convert(const Matrix& from, const Matrix& to) {
  check_same_size(from, to);
  with_type(from.type, [&](auto source) {
    with_type(to.type, [&](auto target) {
      using From = decltype(source);
      using To = decltype(target);
      launch_rows(
          "convert", 0, from.rows,
          bodies::Convert<From, To>{read_rows<From>(from), write_rows<To>(to), from.columns});
    });
  });
}

void HostKernels::residual_add(const Matrix& x, const Matrix& y, const float* bias,
                               const Matrix& out) {
  launch_rows("residual_add", 0, x.rows,
              bodies::ResidualAdd{read_rows<float>(x), read_rows<float>(y), bias,
                                  write_rows<float>(out), x.columns});
}

void HostKernels::rotate(const Matrix& x, std::size_t sequence_length, std::size_t heads,
                         const Matrix& table, bool back) {
  const std::size_t head_size = heads == 0 ? 0 : x.columns / heads, pairs = table.columns / 2;
  check_rotation(x, sequence_length, heads, table);
  with_type(x.type, [&](auto element) {
    using T = decltype(element);
    launch_rows("rotate", 0, x.rows,
                bodies::Rotate<T>{write_rows<T>(x), read_rows<float>(table), sequence_length, heads,
                                  head_size, pairs, back});
  });
}

void HostKernels::add_column_sums(const Matrix& d, float* gradient) {
  with_type(d.type, [&](auto element) {
    using T = decltype(element);
    launch_columns("add_column_sums", d.columns, 0, d.rows,
                   bodies::ColumnSum<T>{read_rows<T>(d), gradient});
  });
}

void HostKernels::add_column_sums_and_convert(const Matrix& d, float* gradient,
                                              const Matrix& converted) {
  check_same_size(d, converted);
  with_narrow_type(converted.type, [&](auto element) {
    using T = decltype(element);
    launch_columns(
        "add_column_sums_and_convert", d.columns, 0, d.rows,
        bodies::ConvertingColumnSum<T>{read_rows<float>(d), gradient, write_rows<T>(converted)});
  });
}

void kernels::check_rotation(const Matrix& x, std::size_t sequence_length, std::size_t heads,
                             const Matrix& table) {
  PPTRAIN_ASSERT(table.rows >= sequence_length && table.columns % 2 == 0 &&
                     table.columns * heads <= x.columns && (heads == 0 || x.columns % heads == 0),
                 "a table ({}, {}) for ({}, {}) with {} heads and {} positions", table.rows,
                 table.columns, x.rows, x.columns, heads, sequence_length);
}

Kernels& host_kernels() {
  static HostKernels kernels;
  return kernels;
}

}  // namespace pptrain
