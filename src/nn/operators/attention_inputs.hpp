#pragma once

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

}  // namespace pptrain
