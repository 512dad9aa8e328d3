#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/bodies/attention.hpp"
#include "kernels/panel_product.hpp"
#include "tensor/tensor.hpp"

/// What the forward and backward pass of host attention share. One head of one sample is computed at a
/// time, from copies in f32 that are laid out for panel products.
namespace pptrain::kernels {

/// Query rows handled at once; their scores against all earlier keys are the only T-wide scratch.
constexpr std::size_t attention_tile = 48;
static_assert(attention_tile % panel_rows == 0);

/// Sizes of one call and where one head of one sample lies in its matrices.
struct AttentionShape {
  std::size_t samples, sequence_length, heads, head_size;

  AttentionShape(const Matrix& qkv, std::size_t num_samples, std::size_t length, std::size_t num_heads);

  float scale() const { return 1.0f / std::sqrt(static_cast<float>(head_size)); }
  /// q (part 0), k (1) or v (2) of a head: (T, head_size) within a qkv-shaped matrix.
  Matrix part(const Matrix& qkv, std::size_t sample, std::size_t head, std::size_t which) const;
  /// A head's columns of an out-shaped matrix: (T, head_size).
  Matrix head_of(const Matrix& out, std::size_t sample, std::size_t head) const;
  /// The log_sum of a head's first query; one query to the next is `heads` apart.
  template <class T>
  T* log_sum_of(T* log_sum, std::size_t sample, std::size_t head) const {
    return log_sum + sample * sequence_length * heads + head;
  }

  /// Scratch: a tile of scores, (T, head_size) with rows of whole panels, and its transpose in panels.
  Tensor scores(Arena& arena) const { return {arena, attention_tile, bodies::CausalRow::widest(sequence_length)}; }
  Tensor rows(Arena& arena) const { return {arena, sequence_length, round_up(head_size, panel_width)}; }
  Tensor transposed(Arena& arena) const { return {arena, head_size, round_up(sequence_length, panel_width)}; }
};

/// Whether sums over a head can be made in place of this matrix: f32, and its rows whole panels.
bool is_panels(const Matrix& head);
/// The (T, head_size) matrix in f32: itself where it can serve as a left factor, else a copy in `rows`.
Matrix as_left(const Matrix& head, const Tensor& rows);
/// Copies a (T, head_size) matrix into `rows`, zeros up to whole panels.
void copy_rows(const Matrix& head, const Tensor& rows);
/// Copies its transpose into panels of 16 of its rows, zeros behind the last.
void copy_transposed(const Matrix& head, const Tensor& transposed);

/// `rows` as left factor, from row `first` on.
inline LeftOperand left_rows(const Matrix& rows, std::size_t first) { return {rows.at<float>(first), rows.stride, 1}; }
/// `rows` as right factor, from row `first` on.
inline PanelOperand right_rows(const Matrix& rows, std::size_t first) {
  return {rows.at<float>(first), panel_width, rows.stride};
}
inline PanelOperand right_transposed(const Matrix& transposed) {
  return {transposed.f32(), transposed.rows * panel_width, panel_width};
}

/// Scores (or their gradients) of the queries [first, last), as far as each group of them sees keys.
void causal_scores(const Matrix& queries, const Matrix& transposed_keys, std::size_t first, std::size_t last,
                   const Matrix& scores);
/// Rows [0, last - first) of `out` = tile of masked probabilities (or dscores) times `values` (T, head_size).
void causal_values(const Matrix& probabilities, const Matrix& values, std::size_t first, std::size_t last,
                   const Matrix& out);

}  // namespace pptrain::kernels
