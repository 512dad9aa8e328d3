#include "runtime/emulation/emulated_layer.hpp"

namespace pptrain {

Tensor EmulatedLayer::forward(Batch& batch, Tensor input, SavedPtr* saved) {
  meet_();
  const double due = clock_.now() + seconds_.forward;
  Tensor output = layer_->forward(batch, std::move(input), saved);
  clock_.wait_rest(due);
  return output;
}

Tensor EmulatedLayer::backward_input(const Batch& batch, Tensor gradient, Saved& saved) {
  meet_();
  const double due = clock_.now() + seconds_.backward_input;
  Tensor input_gradient = layer_->backward_input(batch, std::move(gradient), saved);
  clock_.wait_rest(due);
  return input_gradient;
}

void EmulatedLayer::backward_weight(const Batch& batch, Saved& saved) {
  const double due = clock_.now() + seconds_.backward_weight;
  layer_->backward_weight(batch, saved);
  clock_.wait_rest(due);
}

}  // namespace pptrain
