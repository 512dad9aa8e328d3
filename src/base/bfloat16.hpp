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
  PPTRAIN_FUNCTION explicit BFloat16(float value) : bits(round(value)) {}
  PPTRAIN_FUNCTION operator float() const {
    return bits_as<float>(static_cast<std::uint32_t>(bits) << 16);
  }

  /// The bits of the nearest bf16.
  PPTRAIN_FUNCTION static std::uint16_t round(float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    // The instruction gives the same bits but for NaN, of which it knows one alone.
    std::uint16_t nearest;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(nearest) : "f"(value));
    return nearest;
#else
    const auto word = bits_as<std::uint32_t>(value);
    // All ones for NaN, which is made quiet and not rounded: a branch would keep loops from
    // vectorising.
    const auto nan = static_cast<std::uint32_t>(
        static_cast<std::int32_t>(0x7f800000U - (word & 0x7fffffffU)) >> 31);
    const std::uint32_t half_up_to_even = (0x7fffU + (word >> 16 & 1U)) & ~nan;
    return static_cast<std::uint16_t>(((word + half_up_to_even) | (nan & 0x400000U)) >> 16);
#endif
  }
};

/// to = value, rounded to its type. In loops that are to vectorise, where assigning a BFloat16
/// makes a temporary object that prevents it.
PPTRAIN_FUNCTION inline void store(float& to, float value) { to = value; }
PPTRAIN_FUNCTION inline void store(BFloat16& to, float value) { to.bits = BFloat16::round(value); }

}  // namespace pptrain
