#pragma once

#include "nn/layer.hpp"

namespace pptrain {

/// Softmax and cross-entropy over classes that a group has divided: its members exchange row maxima, sums and target
/// logits, never logits (Megatron's vocabulary-parallel cross-entropy). R rows, C classes of this member.
class CrossEntropy {
 public:
  /// logits (R, C) T, the first class of this member. Adds to the batch's loss.
  /// Collective over `group`, one member where all hold all classes.
  void forward(const LayerContext& context, Communicator& group, const Matrix& logits, std::int64_t first_class,
               const Batch& batch);
  /// The logits become their own gradient, times the batch's scale.
  void backward(const LayerContext& context, const Matrix& logits, const Batch& batch) const;
  /// As of `Saved`.
  std::vector<Tensor*> kept() { return {&row_max_, &row_sum_}; }

 private:
  Tensor row_max_;  // (1, R), over all classes
  Tensor row_sum_;  // (2, R): sums, then target logits
  std::int64_t first_class_ = 0;
};

}  // namespace pptrain
