#include "base/bfloat16.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("bf16 rounds to nearest even", "[base]") {
  const auto rounded = [](float value) { return static_cast<float>(BFloat16(value)); };
  REQUIRE(rounded(1.0f) == 1.0f);
  REQUIRE(rounded(-2.5f) == -2.5f);
  REQUIRE(rounded(1.0f + 0x1p-8f) == 1.0f);               // half way: to the even neighbour below
  REQUIRE(rounded(1.0f + 0x3p-8f) == 1.0f + 0x1p-6f);     // half way: to the even neighbour above
  REQUIRE(rounded(1.0f + 0x1.01p-8f) == 1.0f + 0x1p-7f);  // just above half way
  REQUIRE(rounded(-0.0f) == 0.0f);
  REQUIRE(std::signbit(rounded(-0.0f)));
}

TEST_CASE("bf16 keeps infinities and NaNs and overflows to infinity", "[base]") {
  const float infinity = std::numeric_limits<float>::infinity();
  REQUIRE(static_cast<float>(BFloat16(infinity)) == infinity);
  REQUIRE(static_cast<float>(BFloat16(-infinity)) == -infinity);
  REQUIRE(static_cast<float>(BFloat16(std::numeric_limits<float>::max())) == infinity);
  REQUIRE(std::isnan(static_cast<float>(BFloat16(std::numeric_limits<float>::quiet_NaN()))));
  // A NaN whose payload is only in the half that is cut off must not become infinity.
  REQUIRE(std::isnan(static_cast<float>(BFloat16(bits_as<float>(0x7f800001U)))));
}

TEST_CASE(
    "a bf16 is the upper half of an fp32 and its own rounding, and takes what is nearer to it",
    "[base]") {
  int wrong = 0;
  for (std::uint32_t bits = 0; bits < 0x7f80U; ++bits) {
    BFloat16 half;
    half.bits = static_cast<std::uint16_t>(bits);
    const float value = half;
    if (bits_as<std::uint32_t>(value) != bits << 16 || BFloat16::round(value) != bits) ++wrong;
    // One before the middle to the next, the middle, and one behind it.
    const std::uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    if (BFloat16::round(bits_as<float>(bits << 16 | 0x7fffU)) != bits) ++wrong;
    if (BFloat16::round(bits_as<float>(bits << 16 | 0x8000U)) != even) ++wrong;
    if (BFloat16::round(bits_as<float>(bits << 16 | 0x8001U)) != bits + 1) ++wrong;
    if (BFloat16::round(-value) != (bits | 0x8000U)) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a value is stored as its type rounds it", "[base]") {
  BFloat16 narrow;
  store(narrow, 1.0F + 0x3p-8F);
  CHECK(narrow.bits == 0x3f82U);
  float wide = 0.0F;
  store(wide, 1.0F + 0x3p-8F);
  CHECK(wide == 1.0F + 0x3p-8F);
}

}  // namespace
}  // namespace pptrain
