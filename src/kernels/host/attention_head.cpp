#include "kernels/host/attention_head.hpp"

#include <cmath>

#include "base/error.hpp"
#include "kernels/host/launch.hpp"
#include "kernels/kernels.hpp"

namespace pptrain::kernels {

std::size_t SeenKeys::end_of(std::size_t key) const {
  if (key >= length) return length;
  const std::size_t of_window = window == 0 ? length : std::min(length, key + window);
  if (document_begin == nullptr) return of_window;
  const auto* end = std::upper_bound(document_begin + key, document_begin + of_window,
                                     static_cast<std::int64_t>(key));
  return static_cast<std::size_t>(end - document_begin);
}

Tensor scratch_scores(const AttentionForm& form, Arena& arena) {
  // A tile's window and the tile itself, both rounded to whole tiles.
  const std::size_t keys = form.window == 0
                               ? form.keys()
                               : std::min(form.sequence_length, form.window + 2 * attention_tile);
  return {arena, attention_tile, bodies::CausalRow::widest(keys)};
}
Tensor scratch_rows(const AttentionForm& form, Arena& arena) {
  return {arena, form.sequence_length, round_up(form.head_size, panel_width)};
}
Tensor scratch_keys(const AttentionForm& form, Arena& arena) {
  return {arena, form.keys(), round_up(form.head_size, panel_width)};
}
Tensor scratch_transposed(const AttentionForm& form, Arena& arena) {
  return {arena, form.head_size, round_up(form.keys(), panel_width)};
}

bool is_panels(const Matrix& head) {
  return head.type == DType::f32 && head.columns % panel_width == 0;
}

Matrix as_left(const Matrix& head, const Tensor& rows) {
  if (head.type == DType::f32) return head;
  copy_rows(head, rows);
  return rows;
}

void copy_rows(const Matrix& head, const Tensor& rows) {
  host_kernels().convert(head, rows.matrix().columns_from(0, head.columns));
  for (std::size_t r = 0; r < head.rows && rows.columns() != head.columns; ++r) {
    std::fill_n(rows.matrix().at<float>(r, head.columns), rows.columns() - head.columns, 0.0f);
  }
}

void copy_transposed(const Matrix& head, const Tensor& transposed) {
  with_type(head.type, [&](auto element) {
    using T = decltype(element);
    float* to = transposed.f32();
    for (std::size_t row = 0; row < head.rows; row += panel_width) {
      const std::size_t count = std::min(panel_width, head.rows - row);
      const T* from = head.at<T>(row);
      for (std::size_t c = 0; c < head.columns; ++c, to += panel_width) {
        for (std::size_t i = 0; i < count; ++i) to[i] = from[i * head.stride + c];
        std::fill(to + count, to + panel_width, 0.0f);
      }
    }
  });
}

void causal_scores(const QueryTile& tile, const Matrix& queries, const Matrix& transposed_keys,
                   const Matrix& scores) {
  for (std::size_t query = tile.first; query < tile.last; query += panel_rows) {
    const std::size_t count = std::min(panel_rows, tile.last - query);
    const std::size_t first = tile.seen.first_of(query) / panel_width;
    const std::size_t last =
        round_up(tile.seen.behind(query + count - 1), panel_width) / panel_width;
    multiply_panels({count, last - first, transposed_keys.rows}, left_rows(queries, query),
                    right_transposed(transposed_keys, first),
                    scores.at<float>(query - tile.first, first * panel_width - tile.first_key),
                    scores.stride, false);
  }
}

namespace {

/// Column of a head's bias that is added to column 0 of row `row` of a tile's scores.
std::size_t first_distance(const AttentionForm& form, const QueryTile& tile, std::size_t row) {
  return form.sequence_length - 1 - (tile.first + row) + tile.first_key;
}

}  // namespace

void add_bias(const AttentionForm& form, const QueryTile& tile, std::size_t head,
              const Matrix& scores) {
  if (form.bias == nullptr) return;
  const float* of_head = form.bias + head * form.distances();
  const bodies::CausalRows rows = causal_rows(tile);
  for (std::size_t r = 0; r < tile.size(); ++r) {
    const float* bias = of_head + first_distance(form, tile, r);
    float* row = scores.at<float>(r);
    const std::size_t visible = rows.row(r).visible;
    const float scale = form.scale;
#pragma omp simd
    for (std::size_t c = 0; c < visible; ++c) row[c] = scale * row[c] + bias[c];
  }
}

void add_bias_gradient(const AttentionForm& form, const QueryTile& tile, std::size_t head,
                       const Matrix& dscores) {
  if (form.bias == nullptr) return;
  float* of_head = form.bias_gradient + head * form.distances();
  const bodies::CausalRows rows = causal_rows(tile);
  for (std::size_t r = 0; r < tile.size(); ++r) {
    float* gradient = of_head + first_distance(form, tile, r);
    float* row = dscores.at<float>(r);
    const std::size_t visible = rows.row(r).visible;
    const float scale = form.scale;
#pragma omp simd
    for (std::size_t c = 0; c < visible; ++c) {
      gradient[c] += row[c];
      row[c] *= scale;
    }
  }
}

void causal_values(const QueryTile& tile, const Matrix& probabilities, const Matrix& values,
                   const Matrix& out) {
  for (std::size_t query = tile.first; query < tile.last; query += panel_rows) {
    const std::size_t count = std::min(panel_rows, tile.last - query);
    const std::size_t first = tile.seen.first_of(query);
    const LeftOperand left{probabilities.at<float>(query - tile.first, first - tile.first_key),
                           probabilities.stride, 1};
    multiply_panels(
        {count, values.columns / panel_width, tile.seen.behind(query + count - 1) - first}, left,
        right_rows(values, first), out.at<float>(query - tile.first), out.stride, false);
  }
}

}  // namespace pptrain::kernels

namespace pptrain {

AttentionForm multi_head(std::size_t samples, std::size_t sequence_length, std::size_t heads,
                         std::size_t head_size) {
  AttentionForm form;
  form.samples = samples;
  form.sequence_length = sequence_length;
  form.heads = form.key_heads = heads;
  form.head_size = head_size;
  form.scale = 1.0f / std::sqrt(static_cast<float>(head_size));
  return form;
}

void check_attention(const AttentionForm& form, const Matrix& q, const Matrix& k, const Matrix& v,
                     const Matrix& out) {
  const std::size_t queries = form.heads * form.head_size, keys = form.key_heads * form.head_size;
  PPTRAIN_ASSERT(form.first < form.group &&
                     form.key_heads == (form.heads == 0 ? 0 : form.key_head_of(form.heads - 1) + 1),
                 "{} key heads for {} query heads, {} to a group and the first number {} of one",
                 form.key_heads, form.heads, form.group, form.first);
  PPTRAIN_ASSERT(form.causal || (form.window == 0 && form.document_begin == nullptr),
                 "a window or documents of attention that is not causal");
  PPTRAIN_ASSERT(!form.causal || (form.keys() == form.sequence_length && form.seen_keys == nullptr),
                 "causal attention of {} queries to some of {} keys", form.sequence_length,
                 form.keys());
  PPTRAIN_ASSERT(form.cap == 0.0F || form.bias == nullptr, "scores with a cap of {} and a bias",
                 form.cap);
  for (const Matrix* matrix : {&q, &k, &v, &out}) {
    const bool of_queries = matrix == &q || matrix == &out;
    const std::size_t columns = of_queries ? queries : keys,
                      rows = of_queries ? form.rows() : form.key_rows();
    PPTRAIN_ASSERT(matrix->rows == rows && matrix->columns == columns && matrix->type == q.type,
                   "({}, {}) for {} rows of {} samples and {} columns", matrix->rows,
                   matrix->columns, rows, form.samples, columns);
  }
}

}  // namespace pptrain
