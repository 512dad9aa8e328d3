#include "nn/operators/modules.hpp"

namespace pptrain {
namespace {

/// Softmax and cross-entropy. Where a group has divided the classes its members exchange row
/// maxima, sums and target logits, never logits (Megatron's vocabulary-parallel cross-entropy).
/// With a z-loss the squared logarithm of a row's sum is part of the loss (Chowdhery et al.,
/// "PaLM", 2022, section 5); with label smoothing a target logit is the mean of the logits by the
/// target's probabilities. With a cap the logits are first held within it.
class LossModule final : public OperatorModule {
 public:
  LossModule(const op::Loss& kind, OperatorPlace place)
      : OperatorModule(std::move(place)), cap_(static_cast<float>(kind.cap)) {}

  void forward(Batch& batch, Pass& pass) override {
    const Matrix logits = pass.matrix(input());
    if (cap_ > 0.0F) kernels().soft_cap(logits, cap_);
    std::vector<Tensor>& s = statistics(pass);
    s.clear();
    s.emplace_back(arena(), 1, logits.rows);
    // Sums and target logits lie side by side, so that one all-reduce serves both.
    s.emplace_back(arena(), 2, logits.rows);
    float *row_max = s[0].f32(), *row_sum = s[1].f32(), *target_logit = row_sum + logits.rows;
    if (has_gradient_at_once(batch)) {
      kernels().cross_entropy_at_once(logits, targets(batch), row_max, row_sum, target_logit,
                                      form(batch));
    } else if (is_divided()) {
      kernels().cross_entropy_max(logits, row_max);
      group().all_reduce_max(row_max, logits.rows);
      kernels().cross_entropy_sum(logits, targets(batch), row_max, row_sum, target_logit);
      group().all_reduce_sum(row_sum, 2 * logits.rows);
    } else {
      kernels().cross_entropy_statistics(logits, targets(batch), row_max, row_sum, target_logit);
    }
    const std::size_t counted = batch.counted_rows(logits.rows);
    if (batch.loss == nullptr || counted == 0) return;
    kernels().cross_entropy_loss(row_max, row_sum, target_logit, counted, batch.loss,
                                 batch.loss_form.z_loss);
  }

  /// The logits become their own gradient.
  void backward_input(const Batch& batch, Pass& pass) override {
    const Matrix logits = pass.matrix(input());
    if (!has_gradient_at_once(batch)) {
      kernels().cross_entropy_gradient(logits, targets(batch), statistics(pass)[0].f32(),
                                       statistics(pass)[1].f32(), form(batch));
    }
    Gradient gradient = make_gradient(std::move(pass.values[input()]));
    gradient.matrix = logits;
    add_gradient(pass, input(), std::move(gradient));
  }

 private:
  bool is_divided() const { return !value(input()).is_whole() && group().size() > 1; }
  /// Whether forward makes the gradient as well: the logits are read while they are in a cache, and
  /// nothing else reads them.
  bool has_gradient_at_once(const Batch& batch) const {
    return !is_divided() && batch.use != BatchUse::evaluation;
  }
  LossGradient form(const Batch& batch) const {
    return {batch.loss_scale, static_cast<float>(batch.loss_form.z_loss), cap_};
  }
  Targets targets(const Batch& batch) const {
    return batch.loss_form.targets(batch.targets, is_divided() ? part(input()).begin : 0,
                                   value(input()).columns);
  }

  float cap_;
};

}  // namespace

std::unique_ptr<OperatorModule> make_module(const op::Loss& kind, OperatorPlace place) {
  return std::make_unique<LossModule>(kind, std::move(place));
}

}  // namespace pptrain
