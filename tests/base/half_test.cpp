#include "base/half.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "base/random.hpp"
#include "support/catch.hpp"

using namespace pptrain;

namespace {

/// IEEE 754 binary16 by its definition: 1 sign bit, 5 of exponent with bias 15, 10 of fraction.
double value_of(std::uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31U);
  const auto fraction = static_cast<double>(bits & 1023U);
  double magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024.0 + fraction, exponent - 25);
  if (exponent == 31) magnitude = fraction == 0.0 ? INFINITY : NAN;
  return (bits >> 15) != 0 ? -magnitude : magnitude;
}

/// The nearest half by trying neighbours: the even one where two are as near. Beyond the largest by
/// half a step is infinity.
std::uint32_t nearest(float value) {
  if (std::isnan(value)) return 0x7e00U;
  const std::uint32_t sign = std::signbit(value) ? 0x8000U : 0U;
  const double magnitude = std::abs(static_cast<double>(value));
  std::uint32_t below = 0;  // the largest half that is not above
  for (std::uint32_t bit = 0x4000U; bit != 0; bit >>= 1) {
    if ((below | bit) <= 0x7bffU && value_of(below | bit) <= magnitude) below |= bit;
  }
  const double above = below == 0x7bffU ? 65536.0 : value_of(below + 1);
  const double lower = magnitude - value_of(below), upper = above - magnitude;
  const bool rounds_up = upper < lower || (upper == lower && below % 2 == 1);
  return sign | (rounds_up ? below + 1 : below);
}

bool rounds_as_defined(float value) {
  const std::uint32_t found = Half::round(value);
  if (std::isnan(value)) return std::isnan(value_of(found));
  return found == nearest(value);
}

}  // namespace

TEST_CASE("every half has the value that IEEE 754 gives it, and is its own rounding", "[tensor]") {
  int wrong = 0;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = Half::widen(static_cast<std::uint16_t>(bits));
    const double expected = value_of(bits);
    const bool same = std::isnan(expected) ? std::isnan(value)
                                           : static_cast<double>(value) == expected &&
                                                 std::signbit(value) == std::signbit(expected) &&
                                                 Half::round(value) == bits;
    if (!same || (std::isnan(expected) && !std::isnan(Half::widen(Half::round(value))))) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("floats round to the nearest half, the even one of two", "[tensor]") {
  int wrong = 0;
  // Between any two neighbours: half way, and one float on each side of that.
  for (std::uint32_t bits = 0; bits < 0x7c00U; ++bits) {
    const double above = bits == 0x7bffU ? 65536.0 : value_of(bits + 1);
    const auto middle = static_cast<float>((value_of(bits) + above) / 2.0);
    for (const float value : {middle, std::nextafter(middle, 0.0F), std::nextafter(middle, 1e9F)}) {
      if (!rounds_as_defined(value) || !rounds_as_defined(-value)) ++wrong;
    }
  }
  // Any bits of a float, NaNs and denormals among them.
  const CounterRandom random(7, "halves");
  for (std::uint64_t i = 0; i < 1000000; ++i) {
    if (!rounds_as_defined(
            bits_as<float>(static_cast<std::uint32_t>(random.uniform(i) * 4294967296.0))))
      ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("halves keep infinities and NaNs and overflow to infinity", "[tensor]") {
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(static_cast<float>(Half(65504.0F)) == 65504.0F);
  CHECK(static_cast<float>(Half(65519.0F)) == 65504.0F);
  CHECK(static_cast<float>(Half(65520.0F)) == infinity);
  CHECK(static_cast<float>(Half(-infinity)) == -infinity);
  CHECK(static_cast<float>(Half(std::numeric_limits<float>::max())) == infinity);
  // A NaN whose payload is only in the bits that are cut off must not become infinity.
  CHECK(std::isnan(static_cast<float>(Half(bits_as<float>(0x7f800001U)))));
  CHECK(std::signbit(static_cast<float>(Half(-0.0F))));
  CHECK(static_cast<float>(Half(0x1p-24F)) == 0x1p-24F);
  CHECK(static_cast<float>(Half(0x1p-25F)) == 0.0F);  // half way to the smallest: to the even zero
}

TEST_CASE("loops over halves store what single ones do", "[tensor]") {
  const CounterRandom random(8, "halves");
  std::vector<float> values(1003);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(random.uniform(i) * 1e-4 - 5e-5);
  std::vector<Half> halves(values.size());
#pragma omp simd
  for (std::size_t i = 0; i < values.size(); ++i) store(halves[i], values[i]);
  for (std::size_t i = 0; i < values.size(); ++i) REQUIRE(halves[i].bits == nearest(values[i]));
}
