#include "nn/output.hpp"

#include "nn/cross_entropy.hpp"

namespace pptrain {

/// R rows, H hidden, V = local part of the vocabulary: the logits are (R, V) of the activation type.
struct OutputLayer::State final : Saved {
  Tensor take_input() override { return std::move(input); }
  std::vector<Tensor*> kept() override {
    std::vector<Tensor*> tensors = loss.kept();
    tensors.insert(tensors.end(), {&input, &mean, &rstd, &normalised, &rows});
    return tensors;
  }
  Matrix logits() const { return rows.matrix().columns_from(0, vocabulary); }

  Tensor input;       // (R, H) fp32
  Tensor mean, rstd;  // (1, R)
  Tensor normalised;  // (R, H), kept until W
  Tensor rows;        // of the logits, each with what it is padded with; their gradient after backward_input
  std::size_t vocabulary = 0;
  CrossEntropy loss;
};

namespace {

/// Columns of the rows that hold logits. Products of a narrow type are fast on devices whose matrix units load
/// 16 bytes at once only where every row begins at a multiple of them; GPT-2's vocabulary is odd.
std::size_t padded_columns(std::size_t columns, DType type) {
  const std::size_t together = type == DType::f32 ? 1 : 16 / size_of(type);
  return (columns + together - 1) / together * together;
}

}  // namespace

OutputLayer::OutputLayer(LayerContext& context, const std::vector<std::size_t>& parameters)
    : context_(context), gain_(parameters[0]), offset_(parameters[1]), head_(parameters[2]) {}

Tensor OutputLayer::forward(Batch& batch, Tensor input, SavedPtr* saved) {
  Arena& arena = context_.arena;
  auto state = std::make_unique<State>();
  State& s = *state;
  const std::size_t rows = input.rows();
  s.input = std::move(input);
  s.mean = Tensor(arena, 1, rows);
  s.rstd = Tensor(arena, 1, rows);
  s.normalised = Tensor(arena, rows, context_.hidden(), context_.type);
  context_.backend.kernels.residual_norm_forward({}, s.input, {}, nullptr, s.input, context_.parameters.weight(gain_),
                                                 context_.parameters.weight(offset_), s.normalised, s.mean.f32(),
                                                 s.rstd.f32());
  s.vocabulary = static_cast<std::size_t>(context_.part(ShardAxis::vocabulary).size());
  s.rows = Tensor(arena, rows, padded_columns(s.vocabulary, context_.type), context_.type);
  Linear(context_, head_).forward(s.normalised, s.logits());
  s.loss.forward(context_, context_.tensor_group, s.logits(), context_.part(ShardAxis::vocabulary).begin, batch);
  if (saved != nullptr) *saved = std::move(state);
  return {};
}

Tensor OutputLayer::backward_input(const Batch& batch, Tensor /*gradient*/, Saved& saved) {
  auto& s = static_cast<State&>(saved);
  s.loss.backward(context_, s.logits(), batch);
  Tensor normalised_gradient(context_.arena, s.input.rows(), context_.hidden());
  Linear(context_, head_).backward_input(s.logits(), normalised_gradient);
  context_.tensor_group.all_reduce_sum(normalised_gradient.f32(), normalised_gradient.size());
  ParameterStore& store = context_.parameters;
  Tensor input_gradient(context_.arena, s.input.rows(), context_.hidden());
  context_.backend.kernels.norm_backward({}, normalised_gradient, s.input, s.mean.f32(), s.rstd.f32(),
                                         store.weight(gain_), store.weight(offset_), {}, input_gradient,
                                         store.adding(gain_), store.adding(offset_), {});
  s.input.reset();
  return input_gradient;
}

void OutputLayer::backward_weight(const Batch& /*batch*/, Saved& saved) {
  auto& s = static_cast<State&>(saved);
  Linear(context_, head_).backward_weight(s.logits(), s.normalised);
}

}  // namespace pptrain
