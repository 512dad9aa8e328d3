#include "nn/embedding.hpp"

namespace pptrain {
namespace {

struct SavedEmbedding final : Saved {
  Tensor take_input() override { return {}; }
  std::vector<Tensor*> kept() override { return {}; }

  Tensor gradient;  // (R, H), from backward_input to backward_weight
};

}  // namespace

Embedding::Embedding(LayerContext& context, const std::vector<std::size_t>& parameters)
    : context_(context), token_(parameters[0]), position_(parameters[1]) {}

Tensor Embedding::forward(Batch& batch, Tensor /*input*/, SavedPtr* saved) {
  Tensor x(context_.arena, context_.rows(batch), context_.hidden());
  context_.backend.kernels.embedding_forward(
      batch.tokens, static_cast<std::size_t>(context_.model.sequence_length), context_.parameters.weight_matrix(token_),
      context_.part(ShardAxis::vocabulary).begin, context_.parameters.weight_matrix(position_),
      context_.tensor_group.rank() == 0, x);
  context_.tensor_group.all_reduce_sum(x.f32(), x.size());
  if (saved != nullptr) *saved = std::make_unique<SavedEmbedding>();
  return x;
}

Tensor Embedding::backward_input(const Batch& /*batch*/, Tensor gradient, Saved& saved) {
  static_cast<SavedEmbedding&>(saved).gradient = std::move(gradient);
  return {};
}

void Embedding::backward_weight(const Batch& batch, Saved& saved) {
  Tensor gradient = std::move(static_cast<SavedEmbedding&>(saved).gradient);
  ParameterStore& store = context_.parameters;
  store.adding(token_);
  store.adding(position_);
  context_.backend.kernels.embedding_backward(batch.tokens, static_cast<std::size_t>(context_.model.sequence_length),
                                              gradient, context_.part(ShardAxis::vocabulary).begin,
                                              store.gradient_matrix(token_), store.gradient_matrix(position_));
}

}  // namespace pptrain
