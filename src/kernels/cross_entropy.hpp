#pragma once

#include "kernels/targets.hpp"
#include "tensor/tensor.hpp"

namespace pptrain {

/// Cross-entropy over a vocabulary shard, in two parts with a reduction of the group in between
/// (Megatron's vocabulary-parallel loss). logits (R, V_shard) T.
class CrossEntropyKernels {
 public:
  virtual ~CrossEntropyKernels() = default;
  /// x = cap tanh(x / cap), T.
  virtual void soft_cap(const Matrix& x, float cap) = 0;
  /// Part 1: row_max (R) of this shard. NaNs are skipped here and found by part 2.
  virtual void cross_entropy_max(const Matrix& logits, float* row_max) = 0;
  /// Part 2, with row_max of all shards: row_sum (R) of exp(logit - max) over this shard, and
  /// target_logit (R), the sum of target * logit over it. A target below 0 is none: the row's sum
  /// is infinite, by which the other parts leave it out, with a gradient of 0.
  virtual void cross_entropy_sum(const Matrix& logits, const Targets& targets, const float* row_max,
                                 float* row_sum, float* target_logit) = 0;
  /// Parts 1 and 2 of logits that are not divided.
  virtual void cross_entropy_statistics(const Matrix& logits, const Targets& targets,
                                        float* row_max, float* row_sum, float* target_logit) {
    cross_entropy_max(logits, row_max);
    cross_entropy_sum(logits, targets, row_max, row_sum, target_logit);
  }
  /// Part 3, with sums of all shards: logits become their own gradient, (softmax * (1 + 2 z_loss *
  /// logz) - target) * scale with logz = log(row_sum) + row_max, times 1 - (logit / cap)^2 where
  /// they were held within a cap.
  virtual void cross_entropy_gradient(const Matrix& logits, const Targets& targets,
                                      const float* row_max, const float* row_sum,
                                      const LossGradient& gradient) = 0;
  /// All three parts of logits that are not divided, which become their own gradient.
  virtual void cross_entropy_at_once(const Matrix& logits, const Targets& targets, float* row_max,
                                     float* row_sum, float* target_logit,
                                     const LossGradient& gradient) {
    cross_entropy_statistics(logits, targets, row_max, row_sum, target_logit);
    cross_entropy_gradient(logits, targets, row_max, row_sum, gradient);
  }
  /// *loss += the sum over rows with a target of logz - target_logit + z_loss * logz^2, in double.
  virtual void cross_entropy_loss(const float* row_max, const float* row_sum,
                                  const float* target_logit, std::size_t rows, double* loss,
                                  double z_loss) = 0;
};

}  // namespace pptrain
