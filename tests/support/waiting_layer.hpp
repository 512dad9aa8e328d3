#pragma once

#include <memory>

#include "base/timing.hpp"
#include "kernels/kernels.hpp"
#include "nn/layer.hpp"
#include "profile/profile.hpp"

namespace pptrain::test {

/// A layer that takes a fixed time instead of computing; what it passes on is zero. It has the
/// parameters of the layer that it stands for.
class WaitingLayer final : public LayerModule {
 public:
  WaitingLayer(std::unique_ptr<LayerModule> real, const Layer& layer, LayerContext& context,
               const LayerSeconds& seconds)
      : real_(std::move(real)),
        input_(layer.input),
        output_(layer.output),
        context_(context),
        seconds_(seconds) {}

  Tensor forward(Batch& batch, Tensor /*input*/, SavedPtr* saved) override {
    wait(seconds_.forward);
    if (saved != nullptr) *saved = std::make_unique<Nothing>();
    return zeros(batch, output_);
  }
  Tensor backward_input(const Batch& batch, Tensor /*gradient*/, Saved& /*saved*/) override {
    wait(seconds_.backward_input);
    return zeros(batch, input_);
  }
  void backward_weight(const Batch& /*batch*/, Saved& /*saved*/) override {
    wait(seconds_.backward_weight);
  }

 private:
  struct Nothing final : Saved {
    Tensor take_input() override { return {}; }
    std::vector<Tensor*> kept() override { return {}; }
  };

  static void wait(double seconds) { sleep_until(wall_seconds() + seconds); }
  /// What crosses there; nothing at the ends of the chain.
  Tensor zeros(const Batch& batch, const std::optional<Boundary>& port) const {
    if (!port) return {};
    Tensor x(context_.arena, batch.samples * static_cast<std::size_t>(port->packed().rows),
             static_cast<std::size_t>(port->packed().columns));
    host_kernels().fill_zero(x.f32(), x.size());
    return x;
  }

  std::unique_ptr<LayerModule> real_;
  std::optional<Boundary> input_;
  std::optional<Boundary> output_;
  LayerContext& context_;
  LayerSeconds seconds_;
};

}  // namespace pptrain::test
