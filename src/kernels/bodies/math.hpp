#pragma once

#include <cstdint>

#include "tensor/bfloat16.hpp"

/// Elementary functions that vectorise: no branches, no tables, no calls.
namespace pptrain::kernels {

/// e^x within 2 units in the last place. NaN gives NaN, above 88.72 infinity, below -87.33 zero
/// (where the result would be denormal).
///
/// x = n ln 2 + r with |r| <= ln 2 / 2 (ln 2 in two parts: Cody and Waite), e^r by a polynomial of
/// degree 7 (Cephes' expf; in Estrin's order, whose chain is shorter), 2^n by adding n to the
/// exponent bits.
PPTRAIN_FUNCTION inline float fast_exp(float x) {
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
  const float result = bits_as<float>(bits_as<std::uint32_t>(p) + (bits_as<std::uint32_t>(shifted) << 23));
  const float finite = x < -87.33654f ? 0.0f : result;
  return x <= 88.72283f ? finite : x + __builtin_huge_valf();  // NaN takes the second branch and stays NaN
}

/// exp(-2 z) with z = sqrt(2/pi) (u + 0.044715 u^3), the tanh form's argument
/// (Hendrycks and Gimpel, arXiv:1606.08415): (1 + tanh z) / 2 = 1 / (1 + exp(-2 z)).
PPTRAIN_FUNCTION inline float gelu_exponential(float u) {
  constexpr float scale = -2.0f * 0.7978845608028654f;
  return fast_exp(scale * (u + 0.044715f * u * u * u));
}

PPTRAIN_FUNCTION inline float gelu(float u) { return u * (1.0f / (1.0f + gelu_exponential(u))); }

struct GeluWithDerivative {
  float value, derivative;
};

/// gelu(u), bit for bit that of `gelu`, and d gelu / du.
PPTRAIN_FUNCTION inline GeluWithDerivative gelu_with_derivative(float u) {
  constexpr float scale = 2.0f * 0.7978845608028654f;
  const float e = gelu_exponential(u);
  const float gate = 1.0f / (1.0f + e);
  // 1 - gate without cancellation; where e is infinite, gate is 0 and their product must be too.
  const float rest = gate * (e > 1e30f ? 1e30f : e);
  // Beyond 12 gate or rest are 0; held there so that u^2 cannot overflow and give 0 * infinity.
  float held = u > 12.0f ? 12.0f : u;
  held = held < -12.0f ? -12.0f : held;
  return {u * gate, gate + held * gate * rest * scale * (1.0f + 3.0f * 0.044715f * held * held)};
}

}  // namespace pptrain::kernels
