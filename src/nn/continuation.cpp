#include "nn/continuation.hpp"

#include "base/error.hpp"
#include "nn/operator_layer.hpp"

namespace pptrain {
namespace {

/// The operators as they compute any number of rows, each a sample of its own, up to the logits.
OperatorList row_by_row(OperatorList list) {
  for (Value& value : list.values) value.rows = 1;
  if (list.output) return list;
  PPTRAIN_ASSERT(list.operators.back().as<op::Loss>() != nullptr, "the last layer has no loss");
  list.output = list.operators.back().inputs.front();
  list.operators.pop_back();
  return list;
}

}  // namespace

Continuation::Continuation(const Model& model, std::size_t places, DType type)
    : model_(model), context_{host_backend(), arena_, alone_, store_, model_, type, {}}, where_{0, places} {
  PPTRAIN_ASSERT(model_.sample.tokens(), "a {} reads no text", model_.name);
  for (const Layer& layer : model_.layers) {
    const std::vector<std::size_t> parameters = add_parameters(layer, ChunkId(0), context_);
    const OperatorList list = row_by_row(layer.operators);
    layers_.push_back(std::make_unique<OperatorLayer>(
        list, fused(list), parameters, context_,
        [&](OperatorPlace place) { return make_continuing(std::move(place), where_); }));
  }
  store_.allocate_weights(arena_, host_kernels(), type);
}

/// What comes out of all layers but the last, a row for each token.
Tensor Continuation::stream(std::span<const std::uint32_t> tokens) {
  PPTRAIN_ASSERT(!tokens.empty() && where_.first + tokens.size() <= where_.capacity, "{} tokens behind {} of {}",
                 tokens.size(), where_.first, where_.capacity);
  Batch batch;
  batch.samples = tokens.size();
  batch.tokens = tokens.data();
  Tensor x;
  for (std::size_t i = 0; i + 1 < layers_.size(); ++i) x = layers_[i]->forward(batch, std::move(x), nullptr);
  where_.first += tokens.size();
  return x;
}

std::vector<float> Continuation::logits(Tensor stream) {
  Batch batch;
  const std::size_t rows = batch.samples = stream.rows();
  const Tensor result = layers_.back()->forward(batch, std::move(stream), nullptr);
  // Rows of a narrow type may be longer than the vocabulary.
  std::vector<float> values(rows * vocabulary());
  const Matrix out(values.data(), rows, vocabulary());
  host_kernels().convert(result.matrix().columns_from(0, vocabulary()), out);
  return values;
}

std::vector<float> Continuation::read(std::span<const std::uint32_t> tokens) {
  Tensor all = stream(tokens);
  if (all.rows() == 1) return logits(std::move(all));
  Tensor last(arena_, 1, all.columns());
  host_kernels().convert(all.matrix().rows_from(all.rows() - 1, 1), last);
  return logits(std::move(last));
}

std::vector<float> Continuation::read_each(std::span<const std::uint32_t> tokens) { return logits(stream(tokens)); }

}  // namespace pptrain
