#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "support/catch.hpp"
#include "tensor/tensor.hpp"

/// What the kernel tests share: matrices with known contents, their values in double, comparison.
namespace pptrain::test {

using Values = std::vector<double>;  // row-major, without padding

/// A matrix with `padding` extra elements per row. All of it, the padding too, starts as NaN.
class TestMatrix {
 public:
  TestMatrix(std::size_t rows, std::size_t columns, DType type = DType::f32,
             std::size_t padding = 0)
      : bytes_(rows * (columns + padding) * size_of(type) + 64, std::byte{0xff}),
        matrix_(aligned(bytes_.data()), rows, columns, columns + padding, type) {}
  TestMatrix(const TestMatrix&) = delete;
  TestMatrix& operator=(const TestMatrix&) = delete;
  TestMatrix(TestMatrix&&) = default;

  operator const Matrix&() const { return matrix_; }
  const Matrix& matrix() const { return matrix_; }
  float* f32() const { return matrix_.f32(); }

  double get(std::size_t row, std::size_t column) const { return element(row, column); }
  void set(std::size_t row, std::size_t column, double value) {
    const auto v = static_cast<float>(value);
    switch (matrix_.type) {
      case DType::f32: *matrix_.at<float>(row, column) = v; break;
      case DType::bf16: *matrix_.at<BFloat16>(row, column) = BFloat16(v); break;
      case DType::f16: *matrix_.at<Half>(row, column) = Half(v); break;
    }
  }
  Values values() const {
    Values all;
    for (std::size_t r = 0; r < matrix_.rows; ++r) {
      for (std::size_t c = 0; c < matrix_.columns; ++c) all.push_back(get(r, c));
    }
    return all;
  }

  /// Uniform in [centre - scale, centre + scale), the same for the same seed.
  TestMatrix& randomise(std::uint64_t seed, double scale = 1.0, double centre = 0.0) {
    const CounterRandom random(seed, "test");
    for (std::size_t r = 0; r < matrix_.rows; ++r) {
      for (std::size_t c = 0; c < matrix_.columns; ++c) {
        set(r, c, centre + scale * (2.0 * random.uniform(r * matrix_.columns + c) - 1.0));
      }
    }
    return *this;
  }

  /// Whether the padding between the rows is as it was made.
  bool padding_is_untouched() const {
    for (std::size_t r = 0; r < matrix_.rows; ++r) {
      for (std::size_t c = matrix_.columns; c < matrix_.stride; ++c) {
        if (!std::isnan(element(r, c))) return false;
      }
    }
    return true;
  }

  /// Every byte, the padding too, to compare two runs bit for bit.
  std::vector<std::byte> bytes() const {
    const auto* first = static_cast<const std::byte*>(matrix_.data);
    return {first, first + matrix_.rows * matrix_.stride * size_of(matrix_.type)};
  }

 private:
  static void* aligned(std::byte* p) {
    return p + (64 - reinterpret_cast<std::uintptr_t>(p) % 64) % 64;
  }
  double element(std::size_t row, std::size_t column) const {
    if (matrix_.type == DType::f32) return *matrix_.at<float>(row, column);
    if (matrix_.type == DType::f16) return static_cast<float>(*matrix_.at<Half>(row, column));
    return static_cast<float>(*matrix_.at<BFloat16>(row, column));
  }

  std::vector<std::byte> bytes_;
  Matrix matrix_;
};

/// The largest |actual - expected| / max(|expected|, floor); infinite where a NaN is in either.
inline double largest_error(const Values& actual, const Values& expected, double floor = 1.0) {
  REQUIRE(actual.size() == expected.size());
  double largest = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double error = std::abs(actual[i] - expected[i]) / std::max(std::abs(expected[i]), floor);
    if (!(error <= largest)) largest = std::isnan(error) ? INFINITY : error;
  }
  return largest;
}

/// What rounding to the type may change, relative: half a unit in the last place.
inline double rounding(DType type) {
  return type == DType::f32 ? 6e-8 : type == DType::bf16 ? 3.92e-3 : 4.89e-4;
}

inline const char* type_name(DType type) {
  return type == DType::f32 ? "f32" : type == DType::bf16 ? "bf16" : "f16";
}

inline constexpr DType all_types[] = {DType::f32, DType::bf16, DType::f16};

/// `value` rounded to the type.
inline float rounded(double value, DType type) {
  TestMatrix one(1, 1, type);
  one.set(0, 0, value);
  return static_cast<float>(one.get(0, 0));
}

}  // namespace pptrain::test
