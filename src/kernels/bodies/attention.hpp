#pragma once

#include <cmath>
#include <cstddef>

#include "kernels/bodies/math.hpp"
#include "kernels/bodies/row_team.hpp"

/// Rows of causal attention (FlashAttention's recomputation, Dao et al., arXiv:2205.14135). A tile
/// holds `columns` keys of a few queries; the query in row r sees the keys [0, first_query + r].
namespace pptrain::kernels::bodies {

/// Scores become exp(scale * score - largest), zero where masked.
///
/// inverse_sum[r] = 1 / their sum, with which the output still has to be multiplied;
/// log_sum[r * log_sum_stride] = log of the sum of exp(scale * score).
struct CausalSoftmax {
  Rows<float> scores;
  std::size_t first_query, columns;
  float scale;
  float* inverse_sum;
  float* log_sum;
  std::size_t log_sum_stride;

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    float* s = scores.row(row);
    const std::size_t visible = first_query + row + 1;
    const float factor = scale;
    const float largest = factor * team.max(visible, [=](std::size_t c) { return s[c]; });
    team.for_each(visible, [=](std::size_t c) { s[c] = fast_exp(factor * s[c] - largest); });
    const float sum = team.sum(visible, [=](std::size_t c) { return s[c]; });
    team.for_each(columns - visible, [=](std::size_t c) { s[visible + c] = 0.0f; });
    team.once([&] {
      inverse_sum[row] = 1.0f / sum;
      log_sum[row * log_sum_stride] = largest + std::log(sum);
    });
  }
};

/// Scores become probabilities and dprobabilities become dscores:
/// p = exp(scale * score - log_sum), dscore = p (dp - delta) scale with delta = sum of dout * out.
struct CausalSoftmaxBackward {
  Rows<float> scores, dprobabilities;
  std::size_t first_query, columns;
  float scale;
  const float* log_sum;
  std::size_t log_sum_stride;
  const float* delta;

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    float *p = scores.row(row), *dp = dprobabilities.row(row);
    const std::size_t visible = first_query + row + 1;
    const float factor = scale, log = log_sum[row * log_sum_stride], shift = delta[row];
    team.for_each(visible, [=](std::size_t c) {
      const float probability = fast_exp(factor * p[c] - log);
      p[c] = probability;
      dp[c] = probability * (dp[c] - shift) * factor;
    });
    team.for_each(columns - visible, [=](std::size_t c) {
      p[visible + c] = 0.0f;
      dp[visible + c] = 0.0f;
    });
  }
};

/// delta[r] = sum over the head of dout * out.
template <class T>
struct AttentionDelta {
  Rows<const T> out, dout;
  std::size_t head_size;
  float* delta;

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    const T *o = out.row(row), *d = dout.row(row);
    const float sum =
        team.sum(head_size, [=](std::size_t c) { return static_cast<float>(o[c]) * static_cast<float>(d[c]); });
    team.once([&] { delta[row] = sum; });
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
    team.for_each(head_size, [=](std::size_t c) { to[c] = T(from[c] * factor); });
  }
};

}  // namespace pptrain::kernels::bodies
