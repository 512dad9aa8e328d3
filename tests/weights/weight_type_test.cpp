#include "weights/weight_type.hpp"

#include "base/random.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// The value of 16 bits by the definition of the type: exponent bits, bias, fraction bits.
double value_of(WeightType type, std::uint32_t bits) {
  const int fraction_bits = type == WeightType::f16 ? 10 : 7;
  const int exponent_bits = 15 - fraction_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const double fraction =
      std::ldexp(static_cast<double>(bits & ((1U << fraction_bits) - 1)), -fraction_bits);
  double magnitude =
      exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1.0 + fraction, exponent - bias);
  if (exponent == (1 << exponent_bits) - 1) magnitude = fraction == 0.0 ? INFINITY : NAN;
  return (bits >> 15) != 0 ? -magnitude : magnitude;
}

/// All 16-bit patterns, behind one byte that makes them unaligned.
std::vector<std::byte> all_patterns() {
  std::vector<std::byte> stored(1 + 2 * 65536);
  for (std::size_t bits = 0; bits < 65536; ++bits) {
    const auto word = static_cast<std::uint16_t>(bits);
    std::memcpy(stored.data() + 1 + 2 * bits, &word, sizeof word);
  }
  return stored;
}

TEST_CASE("every bf16 and f16 is read as the value that it stands for, and written as it was",
          "[weights]") {
  const std::vector<std::byte> stored = all_patterns();
  for (const WeightType type : {WeightType::bf16, WeightType::f16}) {
    std::vector<float> values(65536);
    widen(type, stored.data() + 1, values);
    std::vector<std::byte> written(stored.size());
    narrow(type, values, written.data() + 1);
    int wrong = 0;
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
      const double wanted = value_of(type, bits);
      const double found = values[bits];
      const bool same =
          std::isnan(wanted)
              ? std::isnan(found)
              : found == wanted && std::signbit(found) == std::signbit(wanted) &&
                    std::memcmp(&stored[1 + 2 * bits], &written[1 + 2 * bits], 2) == 0;
      if (!same) ++wrong;
    }
    INFO(name_of(type));
    CHECK(wrong == 0);
  }
}

TEST_CASE("values are written as the nearest one, the even one of two", "[weights]") {
  struct Case {
    WeightType type;
    float value;
    std::uint16_t bits;
  };
  // Half way between 1 and the next one, then one float above; half way between that and the one
  // after it.
  const std::vector<Case> cases = {
      {WeightType::bf16, 1.0F + 0x1p-8F, 0x3f80},
      {WeightType::bf16, std::nextafter(1.0F + 0x1p-8F, 2.0F), 0x3f81},
      {WeightType::bf16, 1.0F + 3 * 0x1p-8F, 0x3f82},
      {WeightType::bf16, -1.0F - 3 * 0x1p-8F, 0xbf82},
      {WeightType::f16, 1.0F + 0x1p-11F, 0x3c00},
      {WeightType::f16, std::nextafter(1.0F + 0x1p-11F, 2.0F), 0x3c01},
      {WeightType::f16, 1.0F + 3 * 0x1p-11F, 0x3c02},
      {WeightType::f16, 65519.0F, 0x7bff},
      {WeightType::f16, 65520.0F, 0x7c00},
  };
  for (const Case& one : cases) {
    std::uint16_t bits = 0;
    narrow(one.type, std::span(&one.value, 1), reinterpret_cast<std::byte*>(&bits));
    INFO(name_of(one.type) << " of " << one.value);
    CHECK(bits == one.bits);
  }
}

TEST_CASE("fp32 is read and written bit for bit", "[weights]") {
  const CounterRandom random(3, "weights");
  std::vector<std::uint32_t> bits(5000);
  for (std::size_t i = 0; i < bits.size(); ++i)
    bits[i] = static_cast<std::uint32_t>(random.bits(i));
  std::vector<float> values(bits.size());
  widen(WeightType::f32, reinterpret_cast<const std::byte*>(bits.data()), values);
  std::vector<std::uint32_t> written(bits.size());
  narrow(WeightType::f32, values, reinterpret_cast<std::byte*>(written.data()));
  CHECK(written == bits);
}

TEST_CASE("counts are whole numbers of eight bytes, to the nearest one", "[weights]") {
  std::byte stored[17] = {};
  std::byte* unaligned = stored + 1;
  narrow(WeightType::i64, std::vector<float>{16777216.0F, 2.6F}, unaligned);
  CHECK(read_count(unaligned) == 16777216);
  CHECK(read_count(unaligned + 8) == 3);
  CHECK((is_count(WeightType::i64) && !is_count(WeightType::i32) && !is_count(WeightType::f32)));
}

TEST_CASE("types are known by their names", "[weights]") {
  for (const char* name : {"F32",     "BF16",    "F16",     "F64",     "I64",     "U64",  "I32",
                           "U32",     "I16",     "U16",     "I8",      "U8",      "BOOL", "C64",
                           "F8_E4M3", "F8_E5M2", "F8_E8M0", "F6_E2M3", "F6_E3M2", "F4"}) {
    const std::optional<WeightType> type = weight_type(name);
    INFO(name);
    REQUIRE(type.has_value());
    CHECK(name_of(*type) == name);
    CHECK(is_convertible(*type) ==
          (bits_of(*type) / 8 >= 2 && std::string("F32 BF16 F16").find(name) != std::string::npos));
  }
  CHECK_FALSE(weight_type("F128").has_value());
  CHECK_FALSE(weight_type("f32").has_value());
  CHECK(bits_of(WeightType::f64) == 64);
  CHECK(bits_of(WeightType::f4) == 4);
}

}  // namespace
}  // namespace pptrain
