#pragma once

#include <functional>
#include <memory>

#include "nn/layer.hpp"
#include "profile/profile.hpp"
#include "runtime/emulation/emulated_clock.hpp"

namespace pptrain {

/// A layer whose passes take as long as they would on the emulated device: the host computes them,
/// then the rank waits for the rest. Where the host is slower, they take as long as the host.
class EmulatedLayer final : public LayerModule {
 public:
  /// `seconds` of the passes with the group's collectives; `meet` returns once all members of the
  /// group have come.
  EmulatedLayer(std::unique_ptr<LayerModule> layer, const LayerSeconds& seconds,
                EmulatedClock& clock, std::function<void()> meet)
      : layer_(std::move(layer)), seconds_(seconds), clock_(clock), meet_(std::move(meet)) {}

  Tensor forward(Batch& batch, Tensor input, SavedPtr* saved) override;
  Tensor backward_input(const Batch& batch, Tensor gradient, Saved& saved) override;
  void backward_weight(const Batch& batch, Saved& saved) override;

 private:
  std::unique_ptr<LayerModule> layer_;
  LayerSeconds seconds_;
  EmulatedClock& clock_;
  std::function<void()> meet_;
};

}  // namespace pptrain
