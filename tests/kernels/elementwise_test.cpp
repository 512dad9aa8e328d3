#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/bodies/math.hpp"
#include "kernels/kernels.hpp"
#include "kernels/test_matrix.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

const std::vector<std::size_t> odd_sizes{1,  2,   3,   7,    8,    9,    31,
                                         64, 100, 257, 4095, 4096, 4097, 10007};

}  // namespace

TEST_CASE("fast_exp is within 2e-7 of exp over its range", "[kernels]") {
  double largest = 0;
  for (double x = -87.3; x < 88.7; x += 0.00037) {
    const auto argument = static_cast<float>(x);
    const double exact = std::exp(static_cast<double>(argument));
    largest = std::max(largest, std::abs(kernels::fast_exp(argument) - exact) / exact);
  }
  REQUIRE(largest < 2e-7);
}

TEST_CASE("fast_exp at the ends of its range and beyond", "[kernels]") {
  const float infinity = std::numeric_limits<float>::infinity();
  REQUIRE(kernels::fast_exp(0.0f) == 1.0f);
  REQUIRE(kernels::fast_exp(-infinity) == 0.0f);
  REQUIRE(kernels::fast_exp(-1000.0f) == 0.0f);
  REQUIRE(kernels::fast_exp(infinity) == infinity);
  REQUIRE(kernels::fast_exp(89.0f) == infinity);
  REQUIRE(std::isfinite(kernels::fast_exp(88.72f)));
  REQUIRE(kernels::fast_exp(-87.33f) > 0.0f);
  REQUIRE(std::isnan(kernels::fast_exp(std::numeric_limits<float>::quiet_NaN())));
}

TEST_CASE("add, scale and fill_zero touch exactly their elements", "[kernels]") {
  for (const std::size_t n : odd_sizes) {
    CAPTURE(n);
    TestMatrix x(1, n, DType::f32, 9), y(1, n, DType::f32, 9);
    x.randomise(1);
    y.randomise(2);
    Values sum, scaled;
    for (std::size_t i = 0; i < n; ++i) {
      sum.push_back(*x.matrix().at<float>(0, i) + *y.matrix().at<float>(0, i));
      scaled.push_back(*x.matrix().at<float>(0, i) * 0.3f);
    }
    host_kernels().add(x.f32(), y.f32(), n);
    REQUIRE(y.values() == sum);
    host_kernels().scale(x.f32(), 0.3f, n);
    REQUIRE(x.values() == scaled);
    host_kernels().fill_zero(y.f32(), n);
    REQUIRE(y.values() == Values(n, 0.0));
    REQUIRE(x.padding_is_untouched());
    REQUIRE(y.padding_is_untouched());
  }
}

TEST_CASE("dropout drops the same elements of a stream, whatever part of it a tensor is",
          "[kernels]") {
  constexpr std::size_t size = 100000;
  const DropoutMask mask = {3, 99, 0, 0.25};
  std::vector<float> whole(size, 3.0f);
  host_kernels().dropout(whole.data(), size, mask);
  std::size_t dropped = 0;
  for (const float x : whole) {
    REQUIRE((x == 0.0f || x == 4.0f));
    if (x == 0.0f) ++dropped;
  }
  REQUIRE(dropped == Approx(0.25 * size).margin(5 * 137));  // the deviation is 137
  for (const std::size_t n : odd_sizes) {
    for (const std::uint64_t first : {0, 1, 2, 3, 4, 777}) {
      CAPTURE(n, first);
      TestMatrix part(1, n, DType::f32, 9);
      std::fill_n(part.f32(), n, 3.0f);
      host_kernels().dropout(part.f32(), n, {mask.seed, mask.stream, first, mask.rate});
      REQUIRE(std::equal(part.f32(), part.f32() + n,
                         whole.begin() + static_cast<std::ptrdiff_t>(first)));
      REQUIRE(part.padding_is_untouched());
    }
  }
  std::vector<float> other(size, 3.0f);
  host_kernels().dropout(other.data(), size, {4, mask.stream, 0, mask.rate});
  REQUIRE(other != whole);
  host_kernels().dropout(nullptr, 0, mask);
}

namespace {

double sum_of_squares(const float* x, std::size_t n) {
  double sum = 0;
  host_kernels().sum_of_squares(x, n, &sum);
  return sum;
}

}  // namespace

TEST_CASE("sum of squares in double", "[kernels]") {
  for (const std::size_t n : odd_sizes) {
    CAPTURE(n);
    TestMatrix x(1, n);
    x.randomise(3, 1e3);
    double expected = 0;
    for (const double v : x.values()) expected += v * v;
    const double sum = sum_of_squares(x.f32(), n);
    REQUIRE(sum == Approx(expected).epsilon(1e-13));
    REQUIRE(sum_of_squares(x.f32(), n) == sum);
    x.set(0, n / 2, NAN);
    REQUIRE(std::isnan(sum_of_squares(x.f32(), n)));
  }
  REQUIRE(sum_of_squares(nullptr, 0) == 0.0);
}

TEST_CASE("conversion between f32 and 16 bits", "[kernels]") {
  const DType type = GENERATE(DType::bf16, DType::f16);
  TestMatrix f32(5, 67, DType::f32, 3), narrow(5, 67, type, 1), back(5, 67);
  f32.randomise(4, 100.0);
  f32.set(2, 3, NAN);
  f32.set(4, 66, INFINITY);
  host_kernels().convert(f32, narrow);
  host_kernels().convert(narrow, back);
  for (std::size_t r = 0; r < 5; ++r) {
    for (std::size_t c = 0; c < 67; ++c) {
      const float expected = rounded(f32.get(r, c), type);
      const auto actual = static_cast<float>(back.get(r, c));
      REQUIRE((actual == expected || (std::isnan(actual) && std::isnan(expected))));
    }
  }
  REQUIRE(std::isnan(back.get(2, 3)));
  REQUIRE(narrow.padding_is_untouched());
}

TEST_CASE("residual addition", "[kernels]") {
  TestMatrix x(4, 33, DType::f32, 1), y(4, 33), bias(1, 33), out(4, 33, DType::f32, 5);
  x.randomise(1);
  y.randomise(2);
  bias.randomise(3);
  host_kernels().residual_add(x, y, bias.f32(), out);
  Values expected;
  for (std::size_t r = 0; r < 4; ++r) {
    for (std::size_t c = 0; c < 33; ++c)
      expected.push_back(x.get(r, c) + y.get(r, c) + bias.get(0, c));
  }
  REQUIRE(largest_error(out.values(), expected) < 2e-7);
  REQUIRE(out.padding_is_untouched());
  host_kernels().residual_add(x, y, nullptr, out);
  for (std::size_t r = 0; r < 4; ++r) {
    for (std::size_t c = 0; c < 33; ++c)
      REQUIRE(out.get(r, c) == static_cast<float>(x.get(r, c) + y.get(r, c)));
  }
}

TEST_CASE("column sums with a conversion have the bits of both apart", "[kernels]") {
  for (const DType type : {DType::bf16, DType::f16}) {
    for (const std::size_t rows : {1, 8, 65}) {
      for (const std::size_t columns : {1, 30, 1030}) {
        CAPTURE(type_name(type), rows, columns);
        TestMatrix d(rows, columns, DType::f32, 4), gradient(1, columns, DType::f32, 8),
            converted(rows, columns, type, 3), gradient_apart(1, columns, DType::f32, 8),
            converted_apart(rows, columns, type, 3);
        d.randomise(1);
        gradient.randomise(2);
        gradient_apart.randomise(2);
        host_kernels().add_column_sums(d, gradient_apart.f32());
        host_kernels().convert(d, converted_apart);
        host_kernels().add_column_sums_and_convert(d, gradient.f32(), converted);
        REQUIRE(gradient.bytes() == gradient_apart.bytes());
        REQUIRE(converted.bytes() == converted_apart.bytes());
      }
    }
  }
}

TEST_CASE("column sums add to what is there", "[kernels]") {
  for (const DType type : all_types) {
    for (const std::size_t rows : {1, 7, 8, 65}) {
      for (const std::size_t columns : {1, 30, 512, 1030}) {
        CAPTURE(type_name(type), rows, columns);
        TestMatrix d(rows, columns, type, 4), gradient(1, columns, DType::f32, 8),
            again(1, columns, DType::f32, 8);
        d.randomise(1);
        gradient.randomise(2);
        again.randomise(2);
        Values expected = gradient.values();
        for (std::size_t r = 0; r < rows; ++r) {
          for (std::size_t c = 0; c < columns; ++c) expected[c] += d.get(r, c);
        }
        host_kernels().add_column_sums(d, gradient.f32());
        host_kernels().add_column_sums(d, again.f32());
        REQUIRE(largest_error(gradient.values(), expected) < 2e-6);
        REQUIRE(gradient.bytes() == again.bytes());
        REQUIRE(gradient.padding_is_untouched());
        d.set(rows / 2, columns / 2, NAN);
        host_kernels().add_column_sums(d, gradient.f32());
        REQUIRE(std::isnan(gradient.get(0, columns / 2)));
      }
    }
  }
}
