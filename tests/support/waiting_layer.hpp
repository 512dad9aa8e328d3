#pragma once

#include <memory>

#include "base/timing.hpp"
#include "kernels/kernels.hpp"
#include "nn/layer.hpp"
#include "profile/profile.hpp"

namespace pptrain::test {

/// A layer that takes a fixed time instead of computing; what it passes on is zero. It has the parameters of the
/// layer that it stands for.
class WaitingLayer final : public LayerModule {
 public:
  WaitingLayer(std::unique_ptr<LayerModule> real, LayerKind kind, LayerContext& context, const LayerSeconds& seconds)
      : real_(std::move(real)), kind_(kind), context_(context), seconds_(seconds) {}

  Tensor forward(Batch& batch, Tensor /*input*/, SavedPtr* saved) override {
    wait(seconds_.forward);
    if (saved != nullptr) *saved = std::make_unique<Nothing>();
    return kind_ == LayerKind::output ? Tensor() : zeros(batch);
  }
  Tensor backward_input(const Batch& batch, Tensor /*gradient*/, Saved& /*saved*/) override {
    wait(seconds_.backward_input);
    return kind_ == LayerKind::embedding ? Tensor() : zeros(batch);
  }
  void backward_weight(const Batch& /*batch*/, Saved& /*saved*/) override { wait(seconds_.backward_weight); }

 private:
  struct Nothing final : Saved {
    Tensor take_input() override { return {}; }
    std::vector<Tensor*> kept() override { return {}; }
  };

  static void wait(double seconds) { sleep_until(wall_seconds() + seconds); }
  Tensor zeros(const Batch& batch) const {
    Tensor x(context_.arena, context_.rows(batch), context_.hidden());
    host_kernels().fill_zero(x.f32(), x.size());
    return x;
  }

  std::unique_ptr<LayerModule> real_;
  LayerKind kind_;
  LayerContext& context_;
  LayerSeconds seconds_;
};

}  // namespace pptrain::test
