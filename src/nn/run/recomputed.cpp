#include "nn/run/recomputed.hpp"

namespace pptrain {
namespace {

/// The input until the backward pass begins, then all that the layer keeps.
struct Kept final : Saved {
  Tensor take_input() override { return std::move(input); }
  std::vector<Tensor*> kept() override { return {&input}; }

  Tensor input;
  SavedPtr whole;
};

}  // namespace

Tensor RecomputedLayer::forward(Batch& batch, Tensor input, SavedPtr* saved) {
  if (saved == nullptr) return layer_->forward(batch, std::move(input), nullptr);
  SavedPtr whole;
  Tensor output = layer_->forward(batch, std::move(input), &whole);
  auto kept = std::make_unique<Kept>();
  kept->input = whole->take_input();
  *saved = std::move(kept);
  return output;
}

Tensor RecomputedLayer::backward_input(const Batch& batch, Tensor gradient, Saved& saved) {
  auto& kept = static_cast<Kept&>(saved);
  Batch again = batch;
  again.loss = again.balance_sum = again.balance_counts = again.expert_rows = nullptr;  // have been
                                                                                        // counted
  again.use = BatchUse::recomputation;
  layer_->forward(again, std::move(kept.input), &kept.whole);
  return layer_->backward_input(batch, std::move(gradient), *kept.whole);
}

void RecomputedLayer::backward_weight(const Batch& batch, Saved& saved) {
  layer_->backward_weight(batch, *static_cast<Kept&>(saved).whole);
}

}  // namespace pptrain
