#include "nn/transformer_block.hpp"

namespace pptrain {

/// R rows, H hidden, A = local heads * head size, C = local columns.
struct TransformerBlock::State final : Saved {
  Tensor take_input() override { return std::move(input); }
  std::vector<Tensor*> kept() override {
    return {&input, &ln1_mean, &ln1_rstd, &qkv_out, &attended, &log_sum, &middle, &ln2_mean, &ln2_rstd, &up_out};
  }

  // From F to B.
  Tensor input;               // (R, H) fp32
  Tensor ln1_mean, ln1_rstd;  // (1, R)
  Tensor qkv_out;             // (R, 3A)
  Tensor attended;            // (R, A), kept until W; selective recomputation: made again in B
  Tensor log_sum;             // (1, R * heads), likewise
  Tensor middle;              // (R, H) fp32: after attention
  Tensor ln2_mean, ln2_rstd;  // (1, R)
  Tensor up_out;              // (R, C): before GELU
  // From B to W.
  Tensor out_gradient;     // (R, H) of the block's output
  Tensor activated;        // (R, C): GELU(up_out)
  Tensor up_gradient;      // (R, C)
  Tensor ln2_out;          // (R, H)
  Tensor middle_gradient;  // (R, H)
  Tensor qkv_gradient;     // (R, 3A)
  Tensor ln1_out;          // (R, H)
};

TransformerBlock::TransformerBlock(LayerContext& context, const std::vector<std::size_t>& parameters)
    : context_(context), parameters_(parameters) {}

std::size_t TransformerBlock::attention_width() const {
  return num_heads() * static_cast<std::size_t>(context_.model.hidden_size / context_.model.heads);
}

AttentionForm TransformerBlock::attention_form(const Batch& batch) const {
  return multi_head(batch.samples, static_cast<std::size_t>(context_.model.sequence_length), num_heads(),
                    static_cast<std::size_t>(context_.model.hidden_size / context_.model.heads));
}

Matrix TransformerBlock::part(const Matrix& qkv, std::size_t which) const {
  return qkv.columns_from(which * attention_width(), attention_width());
}

void TransformerBlock::attend(const Batch& batch, State& s) const {
  const std::size_t rows = s.qkv_out.rows();
  s.attended = Tensor(context_.arena, rows, attention_width(), context_.type);
  s.log_sum = Tensor(context_.arena, 1, rows * num_heads());
  context_.backend.attention.forward(attention_form(batch), part(s.qkv_out, 0), part(s.qkv_out, 1), part(s.qkv_out, 2),
                                     s.attended, s.log_sum.f32(), context_.arena);
}

Tensor TransformerBlock::attention_forward(const Batch& batch, State& s) const {
  Arena& arena = context_.arena;
  const std::size_t rows = s.input.rows();
  Tensor normalised(arena, rows, context_.hidden(), context_.type);
  s.ln1_mean = Tensor(arena, 1, rows);
  s.ln1_rstd = Tensor(arena, 1, rows);
  context_.backend.kernels.residual_norm_forward({}, s.input, {}, nullptr, s.input, weight(ln1_gain),
                                                 weight(ln1_offset), normalised, s.ln1_mean.f32(), s.ln1_rstd.f32());
  s.qkv_out = Tensor(arena, rows, 3 * attention_width(), context_.type);
  linear(qkv).forward(normalised, s.qkv_out, weight(qkv_bias));
  normalised.reset();
  attend(batch, s);
  Tensor projected(arena, rows, context_.hidden());
  linear(attention_out).forward(s.attended, projected);
  if (context_.recompute == Recompute::selective) {
    s.attended.reset();
    s.log_sum.reset();
  }
  context_.tensor_group.all_reduce_sum(projected.f32(), projected.size());
  return projected;
}

Tensor TransformerBlock::feed_forward(const Tensor& attention, State& s) const {
  Arena& arena = context_.arena;
  const std::size_t rows = s.input.rows();
  Tensor normalised(arena, rows, context_.hidden(), context_.type);
  s.middle = Tensor(arena, rows, context_.hidden());
  s.ln2_mean = Tensor(arena, 1, rows);
  s.ln2_rstd = Tensor(arena, 1, rows);
  context_.backend.kernels.residual_norm_forward({}, s.input, attention, weight(attention_out_bias), s.middle,
                                                 weight(ln2_gain), weight(ln2_offset), normalised, s.ln2_mean.f32(),
                                                 s.ln2_rstd.f32());
  s.up_out = Tensor(arena, rows, num_columns(), context_.type);
  Tensor activated(arena, rows, num_columns(), context_.type);
  linear(up).forward(normalised, s.up_out, weight(up_bias), activated);
  normalised.reset();
  Tensor projected(arena, rows, context_.hidden());
  linear(down).forward(activated, projected);
  context_.tensor_group.all_reduce_sum(projected.f32(), projected.size());
  return projected;
}

Tensor TransformerBlock::forward(Batch& batch, Tensor input, SavedPtr* saved) {
  auto state = std::make_unique<State>();
  state->input = std::move(input);
  const Tensor attention = attention_forward(batch, *state);
  Tensor output = feed_forward(attention, *state);
  context_.backend.kernels.residual_add(state->middle, output, weight(down_bias), output);
  if (saved != nullptr) *saved = std::move(state);
  return output;
}

Tensor TransformerBlock::feed_forward_backward(const Batch& /*batch*/, Tensor gradient, State& s) const {
  Arena& arena = context_.arena;
  const std::size_t rows = gradient.rows();
  s.out_gradient = std::move(gradient);
  Tensor copy;
  s.up_gradient = Tensor(arena, rows, num_columns(), context_.type);
  s.activated = Tensor(arena, rows, num_columns(), context_.type);
  linear(down).backward_gelu_input(as_activation(context_, s.out_gradient, copy), s.up_out, s.up_gradient, s.activated);
  s.up_out.reset();
  Tensor normalised_gradient(arena, rows, context_.hidden());
  linear(up).backward_input(s.up_gradient, normalised_gradient);
  context_.tensor_group.all_reduce_sum(normalised_gradient.f32(), normalised_gradient.size());
  s.ln2_out = Tensor(arena, rows, context_.hidden(), context_.type);
  Tensor middle_gradient(arena, rows, context_.hidden());
  ParameterStore& store = context_.parameters;
  context_.backend.kernels.norm_backward({}, normalised_gradient, s.middle, s.ln2_mean.f32(), s.ln2_rstd.f32(),
                                         weight(ln2_gain), weight(ln2_offset), s.out_gradient, middle_gradient,
                                         store.adding(parameters_[ln2_gain]), store.adding(parameters_[ln2_offset]),
                                         s.ln2_out);
  s.middle.reset();
  return middle_gradient;
}

Tensor TransformerBlock::attention_backward(const Batch& batch, State& s) const {
  Arena& arena = context_.arena;
  const std::size_t rows = s.input.rows();
  Tensor copy;
  Tensor attended_gradient(arena, rows, attention_width(), context_.type);
  linear(attention_out).backward_input(as_activation(context_, s.middle_gradient, copy), attended_gradient);
  if (!s.attended) attend(batch, s);
  s.qkv_gradient = Tensor(arena, rows, 3 * attention_width(), context_.type);
  context_.backend.attention.backward(attention_form(batch), part(s.qkv_out, 0), part(s.qkv_out, 1), part(s.qkv_out, 2),
                                      s.attended, s.log_sum.f32(), attended_gradient, part(s.qkv_gradient, 0),
                                      part(s.qkv_gradient, 1), part(s.qkv_gradient, 2), arena);
  s.qkv_out.reset();
  attended_gradient.reset();
  Tensor normalised_gradient(arena, rows, context_.hidden());
  linear(qkv).backward_input(s.qkv_gradient, normalised_gradient);
  context_.tensor_group.all_reduce_sum(normalised_gradient.f32(), normalised_gradient.size());
  s.ln1_out = Tensor(arena, rows, context_.hidden(), context_.type);
  Tensor input_gradient(arena, rows, context_.hidden());
  ParameterStore& store = context_.parameters;
  context_.backend.kernels.norm_backward({}, normalised_gradient, s.input, s.ln1_mean.f32(), s.ln1_rstd.f32(),
                                         weight(ln1_gain), weight(ln1_offset), s.middle_gradient, input_gradient,
                                         store.adding(parameters_[ln1_gain]), store.adding(parameters_[ln1_offset]),
                                         s.ln1_out);
  s.input.reset();
  return input_gradient;
}

Tensor TransformerBlock::backward_input(const Batch& batch, Tensor gradient, Saved& saved) {
  auto& state = static_cast<State&>(saved);
  state.middle_gradient = feed_forward_backward(batch, std::move(gradient), state);
  return attention_backward(batch, state);
}

float* TransformerBlock::bias_gradient(Index index) const { return context_.parameters.adding(parameters_[index]); }

void TransformerBlock::backward_weight(const Batch& /*batch*/, Saved& saved) {
  auto& s = static_cast<State&>(saved);
  Tensor copy;
  linear(down).backward_weight(as_activation(context_, s.out_gradient, copy), s.activated);
  // Of the gradient in fp32, where the product may have a narrower copy.
  context_.backend.kernels.add_column_sums(s.out_gradient, bias_gradient(down_bias));
  linear(up).backward_weight(s.up_gradient, s.ln2_out, bias_gradient(up_bias));
  linear(attention_out).backward_weight(as_activation(context_, s.middle_gradient, copy), s.attended);
  context_.backend.kernels.add_column_sums(s.middle_gradient, bias_gradient(attention_out_bias));
  linear(qkv).backward_weight(s.qkv_gradient, s.ln1_out, bias_gradient(qkv_bias));
}

}  // namespace pptrain
