#include "kernels/attention_head.hpp"

#include "base/error.hpp"
#include "kernels/kernels.hpp"
#include "kernels/launch.hpp"

namespace pptrain::kernels {

AttentionShape::AttentionShape(const Matrix& qkv, std::size_t num_samples, std::size_t length, std::size_t num_heads)
    : samples(num_samples),
      sequence_length(length),
      heads(num_heads),
      head_size(num_heads == 0 ? 0 : qkv.columns / (3 * num_heads)) {
  PPTRAIN_ASSERT(qkv.rows == samples * sequence_length && qkv.columns == 3 * heads * head_size,
                 "({}, {}) for {} samples of {} tokens and {} heads", qkv.rows, qkv.columns, samples, sequence_length,
                 heads);
}

Matrix AttentionShape::part(const Matrix& qkv, std::size_t sample, std::size_t head, std::size_t which) const {
  return qkv.rows_from(sample * sequence_length, sequence_length)
      .columns_from((which * heads + head) * head_size, head_size);
}

Matrix AttentionShape::head_of(const Matrix& out, std::size_t sample, std::size_t head) const {
  return out.rows_from(sample * sequence_length, sequence_length).columns_from(head * head_size, head_size);
}

bool is_panels(const Matrix& head) { return head.type == DType::f32 && head.columns % panel_width == 0; }

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

void causal_scores(const Matrix& queries, const Matrix& transposed_keys, std::size_t first, std::size_t last,
                   const Matrix& scores) {
  for (std::size_t query = first; query < last; query += panel_rows) {
    const std::size_t count = std::min(panel_rows, last - query);
    multiply_panels(count, round_up(query + count, panel_width) / panel_width, transposed_keys.rows,
                    left_rows(queries, query), right_transposed(transposed_keys), scores.at<float>(query - first),
                    scores.stride, false);
  }
}

void causal_values(const Matrix& probabilities, const Matrix& values, std::size_t first, std::size_t last,
                   const Matrix& out) {
  for (std::size_t query = first; query < last; query += panel_rows) {
    const std::size_t count = std::min(panel_rows, last - query);
    multiply_panels(count, values.columns / panel_width, query + count, left_rows(probabilities, query - first),
                    right_rows(values, 0), out.at<float>(query - first), out.stride, false);
  }
}

}  // namespace pptrain::kernels
