#pragma once

#include <cstdint>

#include "base/bfloat16.hpp"

namespace pptrain {

/// IEEE 754 binary16; rounding is to nearest even, beyond 65,504 to infinity.
struct Half {
  std::uint16_t bits = 0;

  Half() = default;
  PPTRAIN_FUNCTION explicit Half(float value) : bits(round(value)) {}
  PPTRAIN_FUNCTION operator float() const { return widen(bits); }

  /// The bits of the nearest binary16. Integers and selects alone: loops of it vectorise.
  PPTRAIN_FUNCTION static std::uint16_t round(float value) {
#ifdef __CUDA_ARCH__
    std::uint16_t nearest;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(nearest) : "f"(value));
    return nearest;
#else
    const auto word = bits_as<std::uint32_t>(value);
    const std::uint32_t magnitude = word & 0x7fffffffU;
    // The exponent's bias falls by 112, 13 bits are rounded away.
    const std::uint32_t normal = (magnitude + 0xc8000fffU + (magnitude >> 13 & 1U)) >> 13;
    // From 0.5 on floats are as far apart as denormal halves: the sum rounds as it has to.
    const std::uint32_t denormal =
        bits_as<std::uint32_t>(bits_as<float>(magnitude) + 0.5F) - 0x3f000000U;
    // NaN stays one, made quiet.
    const std::uint32_t payload =
        magnitude > 0x7f800000U ? 0x200U | (magnitude >> 13 & 0x3ffU) : 0U;
    const std::uint32_t finite = magnitude < 0x38800000U ? denormal : normal;            // 2^-14
    const std::uint32_t rounded = magnitude < 0x47800000U ? finite : 0x7c00U | payload;  // 2^16
    return static_cast<std::uint16_t>(rounded | (word >> 16 & 0x8000U));
#endif
  }

  PPTRAIN_FUNCTION static float widen(std::uint16_t half) {
#ifdef __CUDA_ARCH__
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
    return value;
#else
    const std::uint32_t magnitude = (half & 0x7fffU) << 13;
    const std::uint32_t normal = magnitude + 0x38000000U;
    const std::uint32_t special = magnitude + 0x70000000U;  // exponent 31 becomes 255
    // m 2^-24 = (2^-14 + m 2^-24) - 2^-14, without a denormal float on the way.
    const float denormal = bits_as<float>(magnitude + 0x38800000U) - 6.103515625e-5F;
    const std::uint32_t finite =
        magnitude < 0x00800000U ? bits_as<std::uint32_t>(denormal) : normal;
    const std::uint32_t widened = magnitude < 0x0f800000U ? finite : special;
    return bits_as<float>(widened | (half & 0x8000U) << 16);
#endif
  }
};

PPTRAIN_FUNCTION inline void store(Half& to, float value) { to.bits = Half::round(value); }

}  // namespace pptrain
