#pragma once

#include "nn/layer.hpp"

namespace pptrain {

/// A layer that keeps nothing but its input from forward to backward and runs forward again, with
/// its tensor-parallel collectives, at the start of `backward_input` (Chen et al., 2016, "Training
/// deep nets with sublinear memory cost"). The same kernels run in the same order, so no bit
/// changes.
class RecomputedLayer final : public LayerModule {
 public:
  explicit RecomputedLayer(std::unique_ptr<LayerModule> layer) : layer_(std::move(layer)) {}

  Tensor forward(Batch& batch, Tensor input, SavedPtr* saved) override;
  Tensor backward_input(const Batch& batch, Tensor gradient, Saved& saved) override;
  void backward_weight(const Batch& batch, Saved& saved) override;

 private:
  std::unique_ptr<LayerModule> layer_;
};

}  // namespace pptrain
