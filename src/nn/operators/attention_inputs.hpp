#pragma once

#include "kernels/attention.hpp"
#include "model/operators.hpp"
#include "tensor/tensor.hpp"

namespace pptrain {

/// Queries, keys and values of an attention.
struct AttentionInputs {
  Matrix q, k, v;
};

/// Those of an operator: inputs of their own, or side by side in one. `matrix_of` gives the matrix of a value and is
/// called once for each input, in order.
template <class MatrixOf>
AttentionInputs attention_inputs(const Operator& op, const MatrixOf& matrix_of) {
  AttentionInputs parts;
  if (op.inputs.size() == 3) {
    parts.q = matrix_of(op.inputs[0]);
    parts.k = matrix_of(op.inputs[1]);
    parts.v = matrix_of(op.inputs[2]);
    return parts;
  }
  const Matrix all = matrix_of(op.inputs.front());
  const std::size_t third = all.columns / 3;
  return {all.columns_from(0, third), all.columns_from(third, third), all.columns_from(2 * third, third)};
}

/// The columns of a value that turn with its place: all, or, where it holds queries, keys and values side by side,
/// those of queries and keys.
inline Matrix turned_columns(const op::Rotary& kind, const Matrix& value) {
  return kind.packed ? value.columns_from(0, value.columns / 3 * 2) : value;
}

/// An attention of all its heads over samples of `length` positions; the caller sets how many samples there are.
inline AttentionForm attention_form(const op::SelfAttention& kind, std::size_t length) {
  AttentionForm form;
  form.sequence_length = length;
  form.heads = static_cast<std::size_t>(kind.heads);
  form.head_size = static_cast<std::size_t>(kind.head_size);
  form.key_heads = static_cast<std::size_t>(kind.key_heads);
  form.group = static_cast<std::size_t>(kind.group());
  form.scale = static_cast<float>(kind.scale);
  form.window = static_cast<std::size_t>(kind.window);
  return form;
}

}  // namespace pptrain
