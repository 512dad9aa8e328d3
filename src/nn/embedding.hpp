#pragma once

#include <vector>

#include "nn/layer.hpp"

namespace pptrain {

/// Token plus position embedding, the vocabulary divided over the tensor-parallel group: each
/// shard adds the tokens it holds, the first one the positions, and the sum over the group is the
/// layer's output.
class Embedding final : public LayerModule {
 public:
  /// parameters: wte, wpe.
  Embedding(LayerContext& context, const std::vector<std::size_t>& parameters);

  Tensor forward(Batch& batch, Tensor input, SavedPtr* saved) override;
  Tensor backward_input(const Batch& batch, Tensor gradient, Saved& saved) override;
  void backward_weight(const Batch& batch, Saved& saved) override;

 private:
  LayerContext& context_;
  std::size_t token_;
  std::size_t position_;
};

}  // namespace pptrain
