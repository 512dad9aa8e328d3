#pragma once

#include <cstdint>
#include <cstring>

/// Marks what host compilers and nvcc's device compiler share. Such headers are C++17.
#ifdef __CUDACC__
#define PPTRAIN_FUNCTION __host__ __device__
#else
#define PPTRAIN_FUNCTION
#endif

namespace pptrain {

/// The bits of a value as another type of the same size (std::bit_cast, for C++17).
template <class To, class From>
PPTRAIN_FUNCTION inline To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "bits_as keeps the size");
  To to;
  std::memcpy(&to, &from, sizeof(To));
  return to;
}

/// The upper half of an fp32; rounding is to nearest even.
struct BFloat16 {
  std::uint16_t bits = 0;

  BFloat16() = default;
  PPTRAIN_FUNCTION explicit BFloat16(float value) {
    const auto word = bits_as<std::uint32_t>(value);
    const bool is_nan = (word & 0x7fffffffU) > 0x7f800000U;
    bits = static_cast<std::uint16_t>(is_nan ? (word >> 16 | 0x40U) : ((word + 0x7fffU + (word >> 16 & 1U)) >> 16));
  }
  PPTRAIN_FUNCTION operator float() const { return bits_as<float>(static_cast<std::uint32_t>(bits) << 16); }
};

}  // namespace pptrain
