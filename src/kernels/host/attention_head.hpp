#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/attention.hpp"
#include "kernels/bodies/attention.hpp"
#include "kernels/host/panel_product.hpp"
#include "tensor/tensor.hpp"

/// What the forward and backward pass of host attention share. One head of one sample is computed
/// at a time, from copies in f32 that are laid out for panel products.
namespace pptrain::kernels {

/// Query rows handled at once; their scores against all keys they see are the only T-wide scratch.
constexpr std::size_t attention_tile = 48;
static_assert(attention_tile % panel_rows == 0 && attention_tile % panel_width == 0,
              "tiles begin where panels do and where groups of rows do");

/// The keys that the queries of one sample see: query t sees those of [first_of(t), behind(t)). No
/// function decreases.
struct SeenKeys {
  std::size_t length, window;  ///< queries, and how far back each sees
  std::size_t keys;            ///< that are seen at all
  bool causal;
  const std::int32_t* document_begin;  ///< (length); null: attention reaches across documents

  SeenKeys(const AttentionForm& form, std::size_t sample)
      : length(form.sequence_length),
        window(form.window),
        keys(form.seen_keys == nullptr ? form.keys()
                                       : static_cast<std::size_t>(form.seen_keys[sample])),
        causal(form.causal),
        document_begin(form.document_begin == nullptr ? nullptr
                                                      : form.document_begin + sample * length) {}

  /// The first key that a query sees, by the window and its document.
  std::size_t first_of(std::size_t query) const {
    const std::size_t of_window = window == 0 || query < window ? 0 : query + 1 - window;
    if (document_begin == nullptr) return of_window;
    return std::max(of_window, static_cast<std::size_t>(document_begin[query]));
  }
  /// The key behind the last one that a query sees, and the first query that sees a key.
  std::size_t behind(std::size_t query) const { return causal ? query + 1 : keys; }
  std::size_t first_query_of(std::size_t key) const { return causal ? key : 0; }
  /// The first query behind `key` that does not see it, `length` where all do.
  std::size_t end_of(std::size_t key) const;
};

/// The queries [first, last) of a head, and the first key of their scores: a multiple of the tile
/// that is no later than the first key any of them sees. Scores lie in columns counted from that
/// key on.
struct QueryTile {
  SeenKeys seen;
  std::size_t first, last, first_key;

  QueryTile(const SeenKeys& keys, std::size_t query)
      : seen(keys),
        first(query),
        last(std::min(keys.length, query + attention_tile)),
        first_key(keys.first_of(query) / attention_tile * attention_tile) {}

  std::size_t size() const { return last - first; }
  /// The key behind all that its queries see.
  std::size_t last_key() const { return seen.behind(last - 1); }
};

inline bodies::CausalRows causal_rows(const QueryTile& tile) {
  const std::int32_t* begins = tile.seen.document_begin;
  return {tile.first - tile.first_key, tile.seen.window, tile.first_key,
          begins == nullptr ? begins : begins + tile.first, tile.seen.causal ? 0 : tile.seen.keys};
}

/// A head's columns of one sample: (T, head_size), of a matrix with rows of queries; and of one
/// with rows of keys.
inline Matrix head_of(const AttentionForm& form, const Matrix& matrix, std::size_t sample,
                      std::size_t head) {
  return matrix.rows_from(sample * form.sequence_length, form.sequence_length)
      .columns_from(head * form.head_size, form.head_size);
}
inline Matrix keys_of(const AttentionForm& form, const Matrix& matrix, std::size_t sample,
                      std::size_t key_head) {
  return matrix.rows_from(sample * form.keys(), form.keys())
      .columns_from(key_head * form.head_size, form.head_size);
}

/// The log_sum of a head's first query; one query to the next is `heads` apart.
template <class T>
T* log_sum_of(const AttentionForm& form, T* log_sum, std::size_t sample, std::size_t head) {
  return log_sum + sample * form.sequence_length * form.heads + head;
}

/// Scratch: a tile of scores, (T, head_size) of queries and of keys with rows of whole panels, and
/// the transpose of keys in panels.
Tensor scratch_scores(const AttentionForm& form, Arena& arena);
Tensor scratch_rows(const AttentionForm& form, Arena& arena);
Tensor scratch_keys(const AttentionForm& form, Arena& arena);
Tensor scratch_transposed(const AttentionForm& form, Arena& arena);

/// Whether sums over a head can be made in place of this matrix: f32, and its rows whole panels.
bool is_panels(const Matrix& head);
/// The (T, head_size) matrix in f32: itself where it can serve as a left factor, else a copy in
/// `rows`.
Matrix as_left(const Matrix& head, const Tensor& rows);
/// Copies a (T, head_size) matrix into `rows`, zeros up to whole panels.
void copy_rows(const Matrix& head, const Tensor& rows);
/// Copies its transpose into panels of 16 of its rows, zeros behind the last.
void copy_transposed(const Matrix& head, const Tensor& transposed);

/// `rows` as left factor, from row `first` on.
inline LeftOperand left_rows(const Matrix& rows, std::size_t first) {
  return {rows.at<float>(first), rows.stride, 1};
}
/// `rows` as right factor, from row `first` on.
inline PanelOperand right_rows(const Matrix& rows, std::size_t first) {
  return {rows.at<float>(first), panel_width, rows.stride};
}
/// The transposed rows as right factor, from panel `first` on.
inline PanelOperand right_transposed(const Matrix& transposed, std::size_t first) {
  const std::size_t panel = transposed.rows * panel_width;
  return {transposed.f32() + first * panel, panel, panel_width};
}

/// Scores (or their gradients) of a tile's queries, as far as each group of them sees keys.
void causal_scores(const QueryTile& tile, const Matrix& queries, const Matrix& transposed_keys,
                   const Matrix& scores);
/// Scores with a bias become scale * score + bias, which the softmax scales no more: by
/// `softmax_scale`.
void add_bias(const AttentionForm& form, const QueryTile& tile, std::size_t head,
              const Matrix& scores);
inline float softmax_scale(const AttentionForm& form) {
  return form.bias == nullptr ? form.scale : 1.0F;
}
/// Adds the gradients of such scores to that of the bias; then they become gradients of the scores
/// before.
void add_bias_gradient(const AttentionForm& form, const QueryTile& tile, std::size_t head,
                       const Matrix& dscores);
/// Rows [0, tile.size()) of `out` = tile of masked probabilities (or dscores) times `values` (T,
/// head_size).
void causal_values(const QueryTile& tile, const Matrix& probabilities, const Matrix& values,
                   const Matrix& out);

}  // namespace pptrain::kernels
