#pragma once

#include <cstdint>

#include "base/bfloat16.hpp"

/// Elementary functions that vectorise: no branches, no tables, no calls.
namespace pptrain::kernels {

namespace detail {

/// e^x for x in [-87.33, 88.72], within 2 units in the last place; elsewhere of no use.
///
/// x = n ln 2 + r with |r| <= ln 2 / 2 (ln 2 in two parts: Cody and Waite), e^r by a polynomial of
/// degree 7 (Cephes' expf; in Estrin's order, whose chain is shorter), on a GPU by its instruction
/// for 2^x, 2^n by adding n to the exponent bits.
PPTRAIN_FUNCTION inline float exp_in_range(float x) {
  constexpr float round_to_integer = 12582912.0f;  // 1.5 * 2^23: sums with it have no fraction bits
  constexpr float log2_e = 1.44269504088896341f;
  const float shifted = x * log2_e + round_to_integer;
  const float n = shifted - round_to_integer;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
#ifdef __CUDA_ARCH__
  float p;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(p) : "f"(r * log2_e));
#else
  const float r2 = r * r;
  const float high = 1.9875691500e-4f * r + 1.3981999507e-3f;
  const float middle = 8.3334519073e-3f * r + 4.1665795894e-2f;
  const float low = 1.6666665459e-1f * r + 5.0000001201e-1f;
  const float p = ((high * r2 + middle) * r2 + low) * r2 + r + 1.0f;
#endif
  // The low bits of `shifted` are n.
  return bits_as<float>(bits_as<std::uint32_t>(p) + (bits_as<std::uint32_t>(shifted) << 23));
}

/// x held in [-87, 88]; NaN becomes a number. By the order of the bits, since a compiler splits
/// loops at comparisons of floats. Negative floats have the largest bits, the larger the more
/// negative.
PPTRAIN_FUNCTION inline float hold_in_exp_range(float x) {
  constexpr std::uint32_t lowest = 0xc2ae0000U;  // -87
  constexpr std::int32_t highest = 0x42b00000;   // 88
  const auto bits = bits_as<std::uint32_t>(x);
  const auto above = static_cast<std::int32_t>(bits < lowest ? bits : lowest);
  return bits_as<float>(above < highest ? above : highest);
}

}  // namespace detail

/// e^x. NaN gives NaN, above 88.72 infinity, below -87.33 zero (where the result would be
/// denormal).
PPTRAIN_FUNCTION inline float fast_exp(float x) {
  const float finite = x < -87.33654f ? 0.0f : detail::exp_in_range(x);
  return x <= 88.72283f ? finite : x + __builtin_huge_valf();  // NaN takes the second branch and
                                                               // stays NaN
}

/// f(u) and f'(u) of an activation f.
struct ValueWithDerivative {
  float value, derivative;
};

/// gelu(u) = u (1 + tanh(w / 2)) / 2 = u / (1 + exp(-w)) with w = sqrt(8/pi) (u + 0.044715 u^3)
/// (Hendrycks and Gimpel, arXiv:1606.08415), and d gelu / du = gate (1 + u w' (1 - gate)) with
/// gate = 1 / (1 + exp(-w)) and u w' = 3 w - 2 sqrt(8/pi) u. For |u| up to 1e30; NaN gives NaN.
PPTRAIN_FUNCTION inline ValueWithDerivative gelu_with_derivative(float u) {
  constexpr float scale = 1.5957691216057308f;
  const float minus_w = detail::hold_in_exp_range(-scale * (u + 0.044715f * u * u * u));
  const float e = detail::exp_in_range(minus_w);
  const float gate = 1.0f / (1.0f + e);
  const float slope = -3.0f * minus_w - 2.0f * scale * u;
  return {u * gate, gate * (1.0f + slope * (gate * e))};  // gate e is 1 - gate without cancellation
}

/// The standard normal distribution at a point: the probability of what is less, and the density.
struct NormalDistribution {
  float cumulative, density;
};

/// The part of the distribution beyond |u| is e p(t), e = exp(-u^2 / 2), t = 1 / (1 + |u| / 2),
/// where p is a polynomial of degree 11 without constant term, fitted to erfc(|u| / sqrt(2)) / (2
/// e) for |u| up to 13.3 within 2e-8 of itself. So the part keeps its relative precision (about
/// three units in the last place, and what the rounding of u^2 makes of e) down to the smallest
/// floats. NaN gives something, with which a product with u is NaN.
PPTRAIN_FUNCTION inline NormalDistribution normal_distribution(float u) {
  const auto bits = bits_as<std::uint32_t>(u);
  const float magnitude = bits_as<float>(bits & 0x7fffffffU);
  const float e = detail::exp_in_range(detail::hold_in_exp_range(-0.5f * u * u));
  const float t = 1.0f / (1.0f + 0.5f * magnitude);
  float p = -0.035138528f;
  p = p * t + 0.164899212f;
  p = p * t - 0.254851264f;
  p = p * t + 0.00666911013f;
  p = p * t + 0.429897226f;
  p = p * t - 0.454672683f;
  p = p * t + 0.0725079256f;
  p = p * t + 0.0179528361f;
  p = p * t + 0.154137388f;
  p = p * t + 0.199115869f;
  p = p * t + 0.199482899f;
  const float beyond = e * (p * t);
  return {static_cast<std::int32_t>(bits) < 0 ? beyond : 1.0f - beyond, e * 0.39894228040143268f};
}

/// gelu(u) = u F(u) with the normal distribution F = (1 + erf(u / sqrt(2))) / 2, and its derivative
/// F + u F'.
PPTRAIN_FUNCTION inline ValueWithDerivative gelu_erf_with_derivative(float u) {
  const NormalDistribution normal = normal_distribution(u);
  return {u * normal.cumulative, normal.cumulative + u * normal.density};
}

/// silu(u) = u gate with gate = 1 / (1 + exp(-u)), and its derivative gate (1 + u (1 - gate)). For
/// |u| up to 1e30.
PPTRAIN_FUNCTION inline ValueWithDerivative silu_with_derivative(float u) {
  const float e = detail::exp_in_range(detail::hold_in_exp_range(-u));
  const float gate = 1.0f / (1.0f + e);
  return {u * gate, gate * (1.0f + u * (gate * e))};  // gate e is 1 - gate without cancellation
}

/// tanh(u) and its derivative 1 - tanh(u)^2. Below 0.625 an odd polynomial of degree 11 (Cephes'
/// tanhf) keeps the relative precision that (1 - e) / (1 + e) with e = exp(-2 |u|) loses there. NaN
/// gives NaN.
PPTRAIN_FUNCTION inline ValueWithDerivative tanh_with_derivative(float u) {
  const auto bits = bits_as<std::uint32_t>(u);
  const std::uint32_t sign = bits & 0x80000000U, size = bits & 0x7fffffffU;
  const float e = detail::exp_in_range(detail::hold_in_exp_range(-2.0f * bits_as<float>(size)));
  const float inverse = 1.0f / (1.0f + e),
              far = bits_as<float>(bits_as<std::uint32_t>((1.0f - e) * inverse) | sign);
  const float z = u * u;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const float near = u + u * (z * p);
  constexpr std::uint32_t border = 0x3f200000U, infinity = 0x7f800000U;  // 0.625
  const float value = size < border ? near : far;
  return {size > infinity ? u : value, 4.0f * e * (inverse * inverse)};
}

/// x held within (-cap, cap), cap tanh(x / cap), and its derivative (Gemma team, "Gemma 2", 2024,
/// section 2).
PPTRAIN_FUNCTION inline ValueWithDerivative soft_cap(float x, float cap) {
  const ValueWithDerivative t = tanh_with_derivative(x / cap);
  return {cap * t.value, t.derivative};
}

/// max(u, 0), and its derivative, which is 0 at 0. NaN gives NaN.
PPTRAIN_FUNCTION inline ValueWithDerivative relu_with_derivative(float u) {
  const float slope = u <= __builtin_huge_valf() ? 1.0f : u;
  return {u <= 0.0f ? 0.0f : u, u <= 0.0f ? 0.0f : slope};
}

}  // namespace pptrain::kernels
