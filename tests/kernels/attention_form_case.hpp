#pragma once

#include <cstdint>
#include <vector>

#include "kernels/attention.hpp"

namespace pptrain::test {

/// Sizes and rules of an attention to the rows of something else, to some of the keys, or with a
/// bias by distance.
struct AttentionFormCase {
  std::size_t samples, queries, keys, heads, head_size;
  bool causal = false;
  bool biased = false;
  std::vector<std::int32_t> seen = {};  ///< keys of each sample; empty: all
  std::size_t group = 1;
  double scale = 1.0;

  std::size_t rows() const { return samples * queries; }
  std::size_t key_rows() const { return samples * keys; }
  std::size_t width() const { return heads * head_size; }
  std::size_t key_width() const { return heads / group * head_size; }
  std::size_t distances() const { return queries + keys - 1; }

  /// With the arrays that the case has, in the memory of the device.
  AttentionForm form(const std::int32_t* seen_keys, const float* bias, float* bias_gradient) const {
    AttentionForm form = multi_head(samples, queries, heads, head_size);
    form.key_length = keys == queries ? 0 : keys;
    form.key_heads = heads / group;
    form.group = group;
    form.causal = causal;
    form.scale = static_cast<float>(scale);
    if (!seen.empty()) form.seen_keys = seen_keys;
    if (biased) form.bias = bias, form.bias_gradient = bias_gradient;
    return form;
  }
};

/// Lengths below, at and above whole tiles (48; 32 and 16 on GPUs), panels (16) and groups of rows
/// (6), either side being the longer one.
inline const std::vector<AttentionFormCase> crossed_forms = {
    {2, 7, 11, 3, 5},   {1, 48, 16, 2, 16}, {2, 18, 26, 3, 16},
    {1, 130, 3, 1, 24}, {2, 5, 97, 2, 8},   {1, 49, 145, 4, 20, false, false, {}, 2, 0.3},
    {1, 1, 1, 1, 4},    {2, 97, 48, 2, 32}};
inline const std::vector<AttentionFormCase> biased_forms = {
    {2, 18, 18, 3, 16, true, true},
    {2, 26, 26, 3, 16, false, true},
    {1, 100, 100, 2, 24, true, true, {}, 1, 0.25},
    {2, 60, 33, 2, 8, false, true, {}, 2, 3.0},
    {1, 1, 1, 1, 4, true, true},
    {1, 145, 145, 1, 16, false, true}};
inline const std::vector<AttentionFormCase> partly_seen_forms = {
    {3, 26, 26, 2, 16, false, true, {26, 1, 17}},
    {2, 18, 60, 3, 16, false, false, {7, 49}},
    {2, 50, 97, 4, 20, false, true, {96, 48}, 2, 0.5},
    {2, 5, 7, 1, 5, false, false, {6, 2}}};

}  // namespace pptrain::test
