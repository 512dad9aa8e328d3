#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/bodies/math.hpp"
#include "kernels/bodies/row_team.hpp"

/// Rows of attention, causal or not (FlashAttention's recomputation, Dao et al., arXiv:2205.14135).
/// A tile holds the scores of a few queries, in columns counted from its first key on.
namespace pptrain::kernels::bodies {

/// The row of a tile that is computed on: `hidden` places before the first key that the query sees,
/// places up to `visible` that it sees, and masked ones behind them up to whole vectors and at
/// least as far as any query sees that is multiplied together with this one.
struct CausalRow {
  std::size_t hidden, visible, padded;

  /// `visible` counts from the tile's first key on; with a window, only the last `window` of these
  /// are seen.
  PPTRAIN_FUNCTION CausalRow(std::size_t num_visible, std::size_t window)
      : hidden(window == 0 || num_visible < window ? 0 : num_visible - window),
        visible(num_visible) {
    constexpr std::size_t together = 6, vector = 16;
    padded = (visible + together - 1 + vector - 1) / vector * vector;
  }
  /// The widest row of a tile whose last query sees `keys` columns of it.
  PPTRAIN_FUNCTION static std::size_t widest(std::size_t keys) {
    return CausalRow(keys + 1, 0).padded;
  }

  template <class Team>
  PPTRAIN_FUNCTION void mask(const Team& team, float* row, float value) const {
    float* behind = row + visible;
    team.for_each(padded - visible, [=](std::size_t c) { behind[c] = value; });
    if (hidden != 0) team.for_each(hidden, [=](std::size_t c) { row[c] = value; });
  }
};

/// The rows of a tile: row r sees the keys of query `first_query` + r, whose number counts from the
/// tile's first key; or all of them.
struct CausalRows {
  std::size_t first_query, window, first_key;
  const std::int32_t* document_begin;  ///< of each row, counted from the sample's first key; null:
                                       ///< no row is bounded so
  std::size_t all_keys = 0;            ///< that every row sees; 0: attention is causal

  PPTRAIN_FUNCTION CausalRow row(std::size_t r) const {
    CausalRow result(all_keys != 0 ? all_keys : first_query + r + 1, window);
    if (document_begin == nullptr) return result;
    const auto begin = static_cast<std::size_t>(document_begin[r]);
    if (begin > first_key + result.hidden) result.hidden = begin - first_key;
    return result;
  }
};

/// Scores become exp(scale * score - largest), zero where masked; with a cap above 0, scale * score
/// is held within it.
///
/// inverse_sum[r] = 1 / their sum, with which the output still has to be multiplied;
/// log_sum[r * log_sum_stride] = log of the sum of exp(scale * score).
struct CausalSoftmax {
  Rows<float> scores;
  CausalRows rows;
  float scale;
  float* inverse_sum;
  float* log_sum;
  std::size_t log_sum_stride;
  float cap;  ///< 0: none

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    const CausalRow keys = rows.row(row);
    float* s = scores.row(row);
    const float most = cap, of_products = scale, factor = most > 0.0f ? 1.0f : of_products;
    if (most > 0.0f) {
      team.for_each(keys.padded,
                    [=](std::size_t c) { s[c] = soft_cap(of_products * s[c], most).value; });
    }
    keys.mask(team, s, -__builtin_huge_valf());
    const float largest = factor * team.max(keys.padded, [=](std::size_t c) { return s[c]; });
    const float sum = team.sum(
        keys.padded, [=](std::size_t c) { return s[c] = fast_exp(factor * s[c] - largest); });
    team.once([&] {
      inverse_sum[row] = 1.0f / sum;
      log_sum[row * log_sum_stride] = largest + std::log(sum);
    });
  }
};

/// Scores become probabilities and dprobabilities become dscores:
/// p = exp(scale * score - log_sum), dscore = p (dp - delta) scale with delta = sum of dout * out.
/// A cap above 0 holds scale * score within it, and dscore is multiplied by the derivative
/// of what holds it.
struct CausalSoftmaxBackward {
  Rows<float> scores, dprobabilities;
  CausalRows rows;
  float scale;
  const float* log_sum;
  std::size_t log_sum_stride;
  const float* delta;
  float cap;  ///< 0: none

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    const CausalRow keys = rows.row(row);
    float *p = scores.row(row), *dp = dprobabilities.row(row);
    if (cap > 0.0f) return capped(team, keys, row, p, dp);
    keys.mask(team, p, -__builtin_huge_valf());
    keys.mask(team, dp, 0.0f);
    const float factor = scale, log = log_sum[row * log_sum_stride], shift = delta[row];
    team.for_each(keys.padded, [=](std::size_t c) {
      const float probability = fast_exp(factor * p[c] - log);
      p[c] = probability;
      dp[c] = probability * (dp[c] - shift) * factor;
    });
  }

  /// A row whose scores a cap holds; masked places are cleared behind it, which would make numbers
  /// of what they held.
  template <class Team>
  PPTRAIN_FUNCTION void capped(const Team& team, const CausalRow& keys, std::size_t row, float* p,
                               float* dp) const {
    const float factor = scale, most = cap, log = log_sum[row * log_sum_stride], shift = delta[row];
    team.for_each(keys.padded, [=](std::size_t c) {
      const ValueWithDerivative score = soft_cap(factor * p[c], most);
      const float probability = fast_exp(score.value - log);
      p[c] = probability;
      dp[c] = probability * (dp[c] - shift) * factor * score.derivative;
    });
    for (float* values : {p, dp}) keys.mask(team, values, 0.0f);
  }
};

/// delta[head * delta_stride + r] = sum over the head's columns of dout * out.
template <class T>
struct AttentionDelta {
  Rows<const T> out, dout;
  std::size_t heads, head_size;
  float* delta;
  std::size_t delta_stride;

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    for (std::size_t head = 0; head < heads; ++head) {
      const T *o = out.row(row) + head * head_size, *d = dout.row(row) + head * head_size;
      const float sum = team.sum(head_size, [=](std::size_t c) {
        return static_cast<float>(o[c]) * static_cast<float>(d[c]);
      });
      team.once([&] { delta[head * delta_stride + row] = sum; });
    }
  }
};

/// out = sum of values times inverse_sum of its row.
template <class T>
struct AttentionOutput {
  Rows<const float> weighted;
  Rows<T> out;
  std::size_t head_size;
  const float* inverse_sum;

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    const float* from = weighted.row(row);
    T* to = out.row(row);
    const float factor = inverse_sum[row];
    team.for_each(head_size, [=](std::size_t c) { store(to[c], from[c] * factor); });
  }
};

}  // namespace pptrain::kernels::bodies
