#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/execute/session.hpp"

namespace pptrain::test {

/// A block whose gradient of the input is infinite in one place while `on`.
class OverflowingLayer final : public LayerModule {
 public:
  OverflowingLayer(std::unique_ptr<LayerModule> real, const bool& on)
      : real_(std::move(real)), on_(on) {}
  Tensor forward(Batch& batch, Tensor input, SavedPtr* saved) override {
    return real_->forward(batch, std::move(input), saved);
  }
  Tensor backward_input(const Batch& batch, Tensor gradient, Saved& saved) override {
    Tensor of_input = real_->backward_input(batch, std::move(gradient), saved);
    if (on_) of_input.f32()[3] = INFINITY;
    return of_input;
  }
  void backward_weight(const Batch& batch, Saved& saved) override {
    real_->backward_weight(batch, saved);
  }

 private:
  std::unique_ptr<LayerModule> real_;
  const bool& on_;
};

inline LayerFactory overflowing(const bool& on) {
  return [&on](const Layer& layer, ChunkId chunk,
               LayerContext& context) -> std::unique_ptr<LayerModule> {
    auto real = make_layer(layer, chunk, context);
    if (layer.reads_samples() || layer.computes_loss()) return real;
    return std::make_unique<OverflowingLayer>(std::move(real), on);
  };
}

/// A block that says so before each of its backward passes.
class CountingLayer final : public LayerModule {
 public:
  CountingLayer(std::unique_ptr<LayerModule> real, std::function<void()> begins)
      : real_(std::move(real)), begins_(std::move(begins)) {}
  Tensor forward(Batch& batch, Tensor input, SavedPtr* saved) override {
    return real_->forward(batch, std::move(input), saved);
  }
  Tensor backward_input(const Batch& batch, Tensor gradient, Saved& saved) override {
    begins_();
    return real_->backward_input(batch, std::move(gradient), saved);
  }
  void backward_weight(const Batch& batch, Saved& saved) override {
    real_->backward_weight(batch, saved);
  }

 private:
  std::unique_ptr<LayerModule> real_;
  std::function<void()> begins_;
};

/// Weights and what the optimizer keeps of their elements, of this rank.
inline std::vector<float> state_of(Session& session) {
  std::vector<float> all;
  std::size_t run = 0;
  const auto state = session.optimizer()->state();
  for (const auto& part : session.device()->parts()) {
    for (const OwnPart& own : part->parameters().own_parts()) {
      all.insert(all.end(), own.weights, own.weights + own.size);
      for (const RunState& quantity : state[run++]) {
        if (quantity.extent != StateExtent::elements) continue;
        all.insert(all.end(), quantity.values, quantity.values + own.size);
      }
    }
  }
  return all;
}

}  // namespace pptrain::test
