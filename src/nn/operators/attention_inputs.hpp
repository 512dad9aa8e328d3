#pragma once

#include "kernels/attention.hpp"
#include "model/operators.hpp"
#include "tensor/tensor.hpp"

namespace pptrain {

/// Queries, keys and values of an attention.
struct AttentionInputs {
  Matrix q, k, v;
};

/// Finds the queries, keys and values of an operator: inputs of their own, or side by side in one.
/// `matrix_of` gives the matrix of a value and is called once for each input, in order.
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
  return {all.columns_from(0, third), all.columns_from(third, third),
          all.columns_from(2 * third, third)};
}

/// The attention of one member, whose part of the axis of `output`, the operator's result, is
/// `own`. Samples, their length, their documents and what is added to scores are left to be said.
inline AttentionForm attention_of_member(const op::SelfAttention& kind, const Value& output,
                                         Interval own) {
  // A position of the axis may stand for several heads.
  const std::int64_t each = output.is_whole() ? 1 : output.divided.unit / kind.head_size;
  const Interval heads =
      output.is_whole() ? Interval{0, kind.heads} : Interval{own.begin * each, own.end * each};
  const std::int64_t first_key_head = heads.begin / kind.group();
  AttentionForm form;
  form.heads = static_cast<std::size_t>(heads.size());
  form.head_size = static_cast<std::size_t>(kind.head_size);
  form.key_heads =
      static_cast<std::size_t>((heads.end + kind.group() - 1) / kind.group() - first_key_head);
  form.group = static_cast<std::size_t>(kind.group());
  form.first = static_cast<std::size_t>(heads.begin % kind.group());
  form.scale = static_cast<float>(kind.scale);
  form.cap = static_cast<float>(kind.cap);
  form.window = static_cast<std::size_t>(kind.window);
  form.causal = kind.causal;
  return form;
}

/// The columns that turn by their place: of packed queries, keys and values the first two thirds.
inline Matrix rotated_columns(const op::Rotary& kind, const Matrix& all) {
  return kind.packed ? all.columns_from(0, all.columns / 3 * 2) : all;
}

}  // namespace pptrain
