#pragma once

#include <cstdint>

#include "tensor/bfloat16.hpp"

/// Elementary functions that vectorise: no branches, no tables, no calls.
namespace pptrain::kernels {

/// e^x within 2 units in the last place. NaN gives NaN, above 88.72 infinity, below -87.33 zero
/// (where the result would be denormal).
///
/// x = n ln 2 + r with |r| <= ln 2 / 2 (ln 2 in two parts: Cody and Waite), e^r by a polynomial of
/// degree 6 (Cephes' expf), 2^n by its exponent bits.
PPTRAIN_FUNCTION inline float fast_exp(float x) {
  constexpr float round_to_integer = 12582912.0f;  // 1.5 * 2^23: sums with it have no fraction bits
  constexpr float overflow = 88.72283f, underflow = -87.33654f;
  float clamped = x > overflow ? overflow : x;  // comparisons that let NaN through
  clamped = clamped < underflow ? underflow : clamped;
  const float shifted = clamped * 1.44269504088896341f + round_to_integer;
  const float n = shifted - round_to_integer;
  const float r = (clamped - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  // n may be 128, for which there is no float: 2^(n-1) * 2.
  const float power = bits_as<float>((bits_as<std::uint32_t>(shifted) - 0x4b400000U + 126U) << 23);
  const float result = p * power * 2.0f;
  return x < underflow ? 0.0f : (x > overflow ? __builtin_huge_valf() : result);
}

/// gelu(u) = u * gate and its derivative's parts; gate = (1 + tanh(z)) / 2 = 1 / (1 + exp(-2 z)) with
/// z = sqrt(2/pi) (u + 0.044715 u^3) (Hendrycks and Gimpel, arXiv:1606.08415).
PPTRAIN_FUNCTION inline float gelu_gate(float u) {
  constexpr float scale = 2.0f * 0.7978845608028654f;
  return 1.0f / (1.0f + fast_exp(-scale * (u + 0.044715f * u * u * u)));
}

PPTRAIN_FUNCTION inline float gelu(float u) { return u * gelu_gate(u); }

/// d gelu / du, given gelu_gate(u).
PPTRAIN_FUNCTION inline float gelu_derivative(float u, float gate) {
  constexpr float scale = 2.0f * 0.7978845608028654f;
  // Beyond 12 the gate is exactly 0 or 1; held there so that u^2 cannot overflow and give 0 * infinity.
  float held = u > 12.0f ? 12.0f : u;
  held = held < -12.0f ? -12.0f : held;
  return gate + held * gate * (1.0f - gate) * scale * (1.0f + 3.0f * 0.044715f * held * held);
}

}  // namespace pptrain::kernels
