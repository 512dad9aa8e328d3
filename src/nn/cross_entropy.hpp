#pragma once

#include "nn/layer.hpp"

namespace pptrain {

/// Softmax and cross-entropy over classes that a group has divided: its members exchange row maxima, sums and target
/// logits, never logits (Megatron's vocabulary-parallel cross-entropy). R rows, C classes of this member.
class CrossEntropy {
 public:
  /// logits (R, C) fp32, targets (R), the first class of this member. Returns the sum of the loss over the rows.
  /// Collective over `group`, one member where all hold all classes.
  double forward(const LayerContext& context, Communicator& group, const Matrix& logits, const std::int32_t* targets,
                 std::int64_t first_class);
  /// The logits become their own gradient, times `scale`.
  void backward(const Matrix& logits, const std::int32_t* targets, float scale) const;

 private:
  Tensor row_max_;  // (1, R), over all classes
  Tensor row_sum_;  // (2, R): sums, then target logits
  std::int64_t first_class_ = 0;
};

}  // namespace pptrain
