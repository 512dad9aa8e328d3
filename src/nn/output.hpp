#pragma once

#include <vector>

#include "nn/linear.hpp"

namespace pptrain {

/// Final LayerNorm, output layer without bias, and the cross-entropy, the vocabulary divided over
/// the tensor-parallel group: the group exchanges row maxima, sums and target logits, never logits
/// (Megatron's vocabulary-parallel cross-entropy).
class OutputLayer final : public LayerModule {
 public:
  /// parameters: ln_f gain, ln_f offset, lm_head (or the tied wte).
  OutputLayer(LayerContext& context, const std::vector<std::size_t>& parameters);

  Tensor forward(Batch& batch, Tensor input, SavedPtr* saved) override;
  Tensor backward_input(const Batch& batch, Tensor gradient, Saved& saved) override;
  void backward_weight(const Batch& batch, Saved& saved) override;

 private:
  struct State;

  LayerContext& context_;
  std::size_t gain_;
  std::size_t offset_;
  std::size_t head_;
};

}  // namespace pptrain
