#include "nn/output.hpp"

#include "kernels/kernels.hpp"

namespace pptrain {

/// R rows, H hidden, V = local part of the vocabulary.
struct OutputLayer::State final : Saved {
  Tensor take_input() override { return std::move(input); }

  Tensor input;       // (R, H) fp32
  Tensor mean, rstd;  // (1, R)
  Tensor normalised;  // (R, H), kept until W
  Tensor logits;      // (R, V) fp32; their gradient after backward_input
  Tensor row_max;     // (1, R), over the whole vocabulary
  Tensor row_sum;     // (1, R)
};

OutputLayer::OutputLayer(LayerContext& context, const std::vector<std::size_t>& parameters)
    : context_(context), gain_(parameters[0]), offset_(parameters[1]), head_(parameters[2]) {}

void OutputLayer::loss(Batch& batch, State& s) const {
  Arena& arena = context_.arena;
  const std::size_t rows = s.logits.rows();
  s.row_max = Tensor(arena, 1, rows);
  kernels::cross_entropy_max(s.logits, s.row_max.f32());
  context_.tensor_group.all_reduce_max(s.row_max.f32(), rows);
  // Sums and target logits lie side by side, so that one all-reduce serves both.
  s.row_sum = Tensor(arena, 2, rows);
  float* target_logit = s.row_sum.f32() + rows;
  kernels::cross_entropy_sum(s.logits, batch.targets, context_.vocabulary.begin, s.row_max.f32(), s.row_sum.f32(),
                             target_logit);
  context_.tensor_group.all_reduce_sum(s.row_sum.f32(), 2 * rows);
  batch.loss = kernels::cross_entropy_loss(s.row_max.f32(), s.row_sum.f32(), target_logit, rows);
}

Tensor OutputLayer::forward(Batch& batch, Tensor input, SavedPtr* saved) {
  Arena& arena = context_.arena;
  auto state = std::make_unique<State>();
  State& s = *state;
  const std::size_t rows = input.rows();
  s.input = std::move(input);
  s.mean = Tensor(arena, 1, rows);
  s.rstd = Tensor(arena, 1, rows);
  s.normalised = Tensor(arena, rows, context_.hidden(), context_.type);
  kernels::residual_layer_norm_forward(s.input, {}, nullptr, s.input, context_.parameters.weight(gain_),
                                       context_.parameters.weight(offset_), s.normalised, s.mean.f32(), s.rstd.f32());
  s.logits = Tensor(arena, rows, static_cast<std::size_t>(context_.vocabulary.size()));
  Linear(context_, head_).forward(s.normalised, s.logits);
  loss(batch, s);
  if (saved != nullptr) *saved = std::move(state);
  return {};
}

Tensor OutputLayer::backward_input(const Batch& batch, Tensor /*gradient*/, Saved& saved) {
  auto& s = static_cast<State&>(saved);
  kernels::cross_entropy_gradient(s.logits, batch.targets, context_.vocabulary.begin, s.row_max.f32(), s.row_sum.f32(),
                                  batch.loss_scale);
  Tensor normalised_gradient(context_.arena, s.input.rows(), context_.hidden());
  Linear(context_, head_).backward_input(s.logits, normalised_gradient);
  context_.tensor_group.all_reduce_sum(normalised_gradient.f32(), normalised_gradient.size());
  ParameterStore& store = context_.parameters;
  Tensor input_gradient(context_.arena, s.input.rows(), context_.hidden());
  kernels::layer_norm_backward(normalised_gradient, s.input, s.mean.f32(), s.rstd.f32(), store.weight(gain_),
                               store.weight(offset_), {}, input_gradient, store.adding(gain_), store.adding(offset_),
                               {});
  s.input.reset();
  return input_gradient;
}

void OutputLayer::backward_weight(const Batch& /*batch*/, Saved& saved) {
  auto& s = static_cast<State&>(saved);
  Linear(context_, head_).backward_weight(s.logits, s.normalised);
}

}  // namespace pptrain
