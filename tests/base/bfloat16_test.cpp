#include "base/bfloat16.hpp"

#include <cmath>
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

}  // namespace
}  // namespace pptrain
