#pragma once

#include <cstdint>

#include "base/bfloat16.hpp"

/// Elementary functions that vectorise: no branches, no tables, no calls.
namespace pptrain::kernels {

namespace detail {

/// e^x for x in [-87.33, 88.72], within 2 units in the last place; elsewhere of no use.
///
/// x = n ln 2 + r with |r| <= ln 2 / 2 (ln 2 in two parts: Cody and Waite), e^r by a polynomial of
/// degree 7 (Cephes' expf; in Estrin's order, whose chain is shorter), 2^n by adding n to the
/// exponent bits.
PPTRAIN_FUNCTION inline float exp_in_range(float x) {
  constexpr float round_to_integer = 12582912.0f;  // 1.5 * 2^23: sums with it have no fraction bits
  const float shifted = x * 1.44269504088896341f + round_to_integer;
  const float n = shifted - round_to_integer;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  const float r2 = r * r;
  const float high = 1.9875691500e-4f * r + 1.3981999507e-3f;
  const float middle = 8.3334519073e-3f * r + 4.1665795894e-2f;
  const float low = 1.6666665459e-1f * r + 5.0000001201e-1f;
  const float p = ((high * r2 + middle) * r2 + low) * r2 + r + 1.0f;
  // The low bits of `shifted` are n.
  return bits_as<float>(bits_as<std::uint32_t>(p) + (bits_as<std::uint32_t>(shifted) << 23));
}

/// x held in [-87, 88]; NaN becomes a number. By the order of the bits, since a compiler splits loops
/// at comparisons of floats. Negative floats have the largest bits, the larger the more negative.
PPTRAIN_FUNCTION inline float hold_in_exp_range(float x) {
  constexpr std::uint32_t lowest = 0xc2ae0000U;  // -87
  constexpr std::int32_t highest = 0x42b00000;   // 88
  const auto bits = bits_as<std::uint32_t>(x);
  const auto above = static_cast<std::int32_t>(bits < lowest ? bits : lowest);
  return bits_as<float>(above < highest ? above : highest);
}

}  // namespace detail

/// e^x. NaN gives NaN, above 88.72 infinity, below -87.33 zero (where the result would be denormal).
PPTRAIN_FUNCTION inline float fast_exp(float x) {
  const float finite = x < -87.33654f ? 0.0f : detail::exp_in_range(x);
  return x <= 88.72283f ? finite : x + __builtin_huge_valf();  // NaN takes the second branch and stays NaN
}

struct GeluWithDerivative {
  float value, derivative;
};

/// gelu(u) = u (1 + tanh(w / 2)) / 2 = u / (1 + exp(-w)) with w = sqrt(8/pi) (u + 0.044715 u^3)
/// (Hendrycks and Gimpel, arXiv:1606.08415), and d gelu / du = gate (1 + u w' (1 - gate)) with
/// gate = 1 / (1 + exp(-w)) and u w' = 3 w - 2 sqrt(8/pi) u. For |u| up to 1e30; NaN gives NaN.
PPTRAIN_FUNCTION inline GeluWithDerivative gelu_with_derivative(float u) {
  constexpr float scale = 1.5957691216057308f;
  const float minus_w = detail::hold_in_exp_range(-scale * (u + 0.044715f * u * u * u));
  const float e = detail::exp_in_range(minus_w);
  const float gate = 1.0f / (1.0f + e);
  const float slope = -3.0f * minus_w - 2.0f * scale * u;
  return {u * gate, gate * (1.0f + slope * (gate * e))};  // gate e is 1 - gate without cancellation
}

PPTRAIN_FUNCTION inline float gelu(float u) { return gelu_with_derivative(u).value; }

}  // namespace pptrain::kernels
