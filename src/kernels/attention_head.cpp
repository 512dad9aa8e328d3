#include "kernels/attention_head.hpp"

#include "base/error.hpp"

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

Matrix as_f32(const Matrix& matrix, const Tensor& scratch) {
  if (matrix.type == DType::f32) return matrix;
  const Matrix copy(scratch.f32(), matrix.rows, matrix.columns);
  convert(matrix, copy);
  return copy;
}

}  // namespace pptrain::kernels
