#include "weights/weight_type.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/bfloat16.hpp"
#include "base/error.hpp"
#include "base/half.hpp"

namespace pptrain {
namespace {

static_assert(std::endian::native == std::endian::little,
              "safetensors files are little-endian and read as they are");

struct StoredType {
  WeightType type;
  std::string_view name;
  int bits;
};

constexpr std::array stored_types = {
    StoredType{WeightType::f32, "F32", 32},
    StoredType{WeightType::bf16, "BF16", 16},
    StoredType{WeightType::f16, "F16", 16},
    StoredType{WeightType::f64, "F64", 64},
    StoredType{WeightType::i64, "I64", 64},
    StoredType{WeightType::u64, "U64", 64},
    StoredType{WeightType::i32, "I32", 32},
    StoredType{WeightType::u32, "U32", 32},
    StoredType{WeightType::i16, "I16", 16},
    StoredType{WeightType::u16, "U16", 16},
    StoredType{WeightType::i8, "I8", 8},
    StoredType{WeightType::u8, "U8", 8},
    StoredType{WeightType::boolean, "BOOL", 8},
    StoredType{WeightType::c64, "C64", 64},
    StoredType{WeightType::f8_e4m3, "F8_E4M3", 8},
    StoredType{WeightType::f8_e5m2, "F8_E5M2", 8},
    StoredType{WeightType::f8_e8m0, "F8_E8M0", 8},
    StoredType{WeightType::f8_e4m3fnuz, "F8_E4M3FNUZ", 8},
    StoredType{WeightType::f8_e5m2fnuz, "F8_E5M2FNUZ", 8},
    StoredType{WeightType::f6_e2m3, "F6_E2M3", 6},
    StoredType{WeightType::f6_e3m2, "F6_E3M2", 6},
    StoredType{WeightType::f4, "F4", 4},
};

const StoredType& stored_type(WeightType type) {
  const auto found = std::find_if(stored_types.begin(), stored_types.end(),
                                  [&](const StoredType& one) { return one.type == type; });
  PPTRAIN_ASSERT(found != stored_types.end(), "type {}", static_cast<int>(type));
  return *found;
}

/// Elements that are converted at a time: by way of a buffer, since those in a file may be
/// unaligned.
constexpr std::size_t block = 1024;

template <class Widen>
void widen_blocks(const std::byte* stored, std::span<float> out, const Widen& widen_one) {
  std::array<std::uint16_t, block> bits;
  for (std::size_t begin = 0; begin < out.size(); begin += block) {
    const std::size_t count = std::min(block, out.size() - begin);
    std::memcpy(bits.data(), stored + 2 * begin, 2 * count);
    std::transform(bits.begin(), bits.begin() + static_cast<std::ptrdiff_t>(count),
                   out.begin() + begin, widen_one);
  }
}

template <class Round>
void narrow_blocks(std::span<const float> values, std::byte* stored, const Round& round) {
  std::array<std::uint16_t, block> bits;
  for (std::size_t begin = 0; begin < values.size(); begin += block) {
    const std::span<const float> part =
        values.subspan(begin, std::min(block, values.size() - begin));
    std::transform(part.begin(), part.end(), bits.begin(), round);
    std::memcpy(stored + 2 * begin, bits.data(), 2 * part.size());
  }
}

}  // namespace

std::string_view name_of(WeightType type) { return stored_type(type).name; }

std::optional<WeightType> weight_type(std::string_view name) {
  for (const StoredType& one : stored_types) {
    if (one.name == name) return one.type;
  }
  return std::nullopt;
}

int bits_of(WeightType type) { return stored_type(type).bits; }

bool is_convertible(WeightType type) {
  return type == WeightType::f32 || type == WeightType::bf16 || type == WeightType::f16;
}

bool is_count(WeightType type) { return type == WeightType::i64; }

std::int64_t read_count(const std::byte* stored) {
  std::int64_t count = 0;
  std::memcpy(&count, stored, sizeof(count));
  return count;
}

void widen(WeightType type, const std::byte* stored, std::span<float> out) {
  PPTRAIN_ASSERT(is_convertible(type), "{}", name_of(type));
  if (type == WeightType::f32) {
    if (!out.empty()) std::memcpy(out.data(), stored, out.size_bytes());
  } else if (type == WeightType::bf16) {
    widen_blocks(stored, out, [](std::uint16_t bits) {
      return bits_as<float>(static_cast<std::uint32_t>(bits) << 16);
    });
  } else {
    widen_blocks(stored, out, [](std::uint16_t bits) { return Half::widen(bits); });
  }
}

void narrow(WeightType type, std::span<const float> values, std::byte* stored) {
  PPTRAIN_ASSERT(is_convertible(type) || is_count(type), "{}", name_of(type));
  if (is_count(type)) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto count = static_cast<std::int64_t>(std::llround(values[i]));
      std::memcpy(stored + i * sizeof(count), &count, sizeof(count));
    }
  } else if (type == WeightType::f32) {
    if (!values.empty()) std::memcpy(stored, values.data(), values.size_bytes());
  } else if (type == WeightType::bf16) {
    narrow_blocks(values, stored, [](float value) { return BFloat16::round(value); });
  } else {
    narrow_blocks(values, stored, [](float value) { return Half::round(value); });
  }
}

}  // namespace pptrain
