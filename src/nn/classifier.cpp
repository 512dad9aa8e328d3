#include "nn/classifier.hpp"

#include "nn/cross_entropy.hpp"

namespace pptrain {

/// R rows, H hidden, C classes of this member.
struct Classifier::State final : Saved {
  Tensor take_input() override { return std::move(input); }
  std::vector<Tensor*> kept() override {
    std::vector<Tensor*> tensors = loss.kept();
    tensors.insert(tensors.end(), {&input, &logits});
    return tensors;
  }

  Tensor input;   // (R, H) fp32, kept until W
  Tensor logits;  // (R, C) fp32, since members may sum them; their gradient after backward_input
  CrossEntropy loss;
};

Classifier::Classifier(LayerContext& context, const std::vector<std::size_t>& parameters)
    : context_(context), linear_(context, parameters[0], parameters[1]) {}

Tensor Classifier::forward(Batch& batch, Tensor input, SavedPtr* saved) {
  auto state = std::make_unique<State>();
  State& s = *state;
  s.input = std::move(input);
  s.logits = Tensor(context_.arena, s.input.rows(), linear_.outputs());
  Tensor copy;
  linear_.forward(as_activation(context_, s.input, copy), s.logits);
  SilentCommunicator alone;
  const bool divided = !linear_.by_rows();
  s.loss.forward(context_, divided ? context_.tensor_group : alone, s.logits,
                 divided ? context_.part(ShardAxis::classes).begin : 0, batch);
  if (saved != nullptr) *saved = std::move(state);
  return {};
}

Tensor Classifier::backward_input(const Batch& batch, Tensor /*gradient*/, Saved& saved) {
  auto& s = static_cast<State&>(saved);
  s.loss.backward(context_, s.logits, batch);
  Tensor copy;
  return linear_.backward_input(as_activation(context_, s.logits, copy));
}

void Classifier::backward_weight(const Batch& /*batch*/, Saved& saved) {
  auto& s = static_cast<State&>(saved);
  Tensor gradient, copy;
  linear_.backward_weight(as_activation(context_, s.logits, gradient), as_activation(context_, s.input, copy));
}

}  // namespace pptrain
