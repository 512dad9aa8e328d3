#include "nn/cross_entropy.hpp"

namespace pptrain {

void CrossEntropy::forward(const LayerContext& context, Communicator& group, const Matrix& logits,
                           std::int64_t first_class, const Batch& batch) {
  Kernels& kernels = context.backend.kernels;
  const std::size_t rows = logits.rows;
  first_class_ = first_class;
  row_max_ = Tensor(context.arena, 1, rows);
  kernels.cross_entropy_max(logits, row_max_.f32());
  group.all_reduce_max(row_max_.f32(), rows);
  // Sums and target logits lie side by side, so that one all-reduce serves both.
  row_sum_ = Tensor(context.arena, 2, rows);
  float* target_logit = row_sum_.f32() + rows;
  kernels.cross_entropy_sum(logits, batch.targets, first_class, row_max_.f32(), row_sum_.f32(), target_logit);
  group.all_reduce_sum(row_sum_.f32(), 2 * rows);
  if (batch.loss == nullptr) return;
  kernels.cross_entropy_loss(row_max_.f32(), row_sum_.f32(), target_logit, rows, batch.loss);
}

void CrossEntropy::backward(const LayerContext& context, const Matrix& logits, const Batch& batch) const {
  context.backend.kernels.cross_entropy_gradient(logits, batch.targets, first_class_, row_max_.f32(), row_sum_.f32(),
                                                 batch.loss_scale);
}

}  // namespace pptrain
