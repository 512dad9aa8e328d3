// What reads the samples: the embedding of tokens, the numbers of a classifier; and the scale
// behind an embedding.
#include "nn/operators/modules.hpp"

namespace pptrain {
namespace {

/// Every member adds the rows of the tokens it holds, the first one those of the places; their sum
/// is the embedding. Rows of token types every member has.
class EmbeddingModule final : public OperatorModule {
 public:
  EmbeddingModule(const op::Embedding& kind, OperatorPlace place)
      : OperatorModule(std::move(place)), kind_(kind) {}

  void forward(Batch& batch, Pass& pass) override {
    Tensor x = new_value(batch, output());
    kernels().embedding_forward(
        {ids(batch), length(), first_token()}, store().weight_matrix(parameter(0)),
        kind_.positions ? places(store().weight_matrix(parameter(1))) : Matrix(),
        kind_.positions && group().rank() == 0, x);
    pass.values[output()] = std::move(x);
  }
  void backward_input(const Batch& /*batch*/, Pass& /*pass*/) override {}
  void backward_weight(const Batch& batch, Pass& pass) override {
    store().adding(parameter(0));
    if (kind_.positions) store().adding(parameter(1));
    kernels().embedding_backward(
        {ids(batch), length(), first_token()}, pass.gradients[output()].matrix,
        store().gradient_matrix(parameter(0)),
        kind_.positions ? places(store().gradient_matrix(parameter(1))) : Matrix());
  }
  bool weight_reads_gradient() const override { return true; }

 private:
  std::size_t length() const { return static_cast<std::size_t>(value(output()).rows); }
  const std::uint32_t* ids(const Batch& batch) const {
    if (kind_.decoder) return batch.decoder_tokens;
    return kind_.token_types ? batch.token_types : batch.tokens;
  }
  std::int64_t first_token() const {
    return kind_.token_types ? 0 : context().part(ShardAxis::vocabulary).begin;
  }
  Matrix places(const Matrix& table) const {
    return table.rows_from(static_cast<std::size_t>(kind_.first_position), length());
  }

  op::Embedding kind_;
};

class FeaturesModule final : public OperatorModule {
 public:
  using OperatorModule::OperatorModule;

  void forward(Batch& batch, Pass& pass) override {
    pass.parts[output()].samples = {const_cast<float*>(batch.features), rows(batch, output()),
                                    columns(output())};
  }
  void backward_input(const Batch& /*batch*/, Pass& /*pass*/) override {}
};

class ScaleModule final : public OperatorModule {
 public:
  ScaleModule(const op::Scaling& kind, OperatorPlace place)
      : OperatorModule(std::move(place)), factor_(static_cast<float>(kind.factor)) {}

  void forward(Batch& /*batch*/, Pass& pass) override { scale(pass.values[output()]); }
  void backward_input(const Batch& /*batch*/, Pass& pass) override {
    scale(own_gradient(pass, output()));
  }

 private:
  void scale(const Matrix& x) const { kernels().scale(x.f32(), factor_, x.size()); }

  float factor_;
};

}  // namespace

std::unique_ptr<OperatorModule> make_module(const op::Embedding& kind, OperatorPlace place) {
  return std::make_unique<EmbeddingModule>(kind, std::move(place));
}
std::unique_ptr<OperatorModule> make_module(const op::Features& /*kind*/, OperatorPlace place) {
  return std::make_unique<FeaturesModule>(std::move(place));
}
std::unique_ptr<OperatorModule> make_module(const op::Scaling& kind, OperatorPlace place) {
  return std::make_unique<ScaleModule>(kind, std::move(place));
}

}  // namespace pptrain
