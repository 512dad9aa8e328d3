#pragma once

#include <vector>

#include "nn/divided_linear.hpp"

namespace pptrain {

/// Linear layer to classes, softmax and cross-entropy. Divided by columns (classes) over a tensor-parallel group the
/// loss is computed on shards of the logits; by rows the logits are summed, and every member computes all of the loss.
class Classifier final : public LayerModule {
 public:
  /// parameters: weight, bias.
  Classifier(LayerContext& context, const std::vector<std::size_t>& parameters);

  Tensor forward(Batch& batch, Tensor input, SavedPtr* saved) override;
  Tensor backward_input(const Batch& batch, Tensor gradient, Saved& saved) override;
  void backward_weight(const Batch& batch, Saved& saved) override;

 private:
  struct State;

  LayerContext& context_;
  DividedLinear linear_;
};

}  // namespace pptrain
