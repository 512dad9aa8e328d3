#include <fmt/format.h>

#include "model/transformer.hpp"
#include "model/zoo_models.hpp"

namespace pptrain {

ModelDescription bert_large(Precision precision) {
  // Devlin et al., BERT, 2018, section 3: 24 layers, hidden size 1024, 16 heads, 340M parameters.
  // Sequences of 128 tokens for 90 % of the steps (appendix A.2). The vocabulary of 30522 and 20
  // predictions per sequence are those of the authors' release.
  constexpr double hidden = 1024.0;
  constexpr double vocabulary = 30522.0;
  constexpr double positions = 512.0;
  constexpr double segments = 2.0;
  constexpr double tokens = 128.0;
  constexpr double predictions = 20.0;
  constexpr int layers = 24;
  const double e = element_bytes(precision);
  ModelDescription model;
  model.precision = precision;
  model.tensor_parallel_degrees = dividing_degrees(16);
  model.shared_parameters = vocabulary * hidden;
  model.layers.push_back(
      embedding_layer("embedding", tokens, hidden, (vocabulary + positions + segments + 2.0) * hidden, e));
  const TransformerBlock block = {tokens, hidden, 16.0, 4.0 * hidden, tokens, Attention::materialised};
  for (int i = 0; i < layers; ++i) model.layers.push_back(transformer_layer(fmt::format("layer.{}", i), block, e));
  // The pooler with the next-sentence classes, the transformation before the vocabulary, and the
  // vocabulary's biases.
  LayerDescription output = output_layer("output", predictions, hidden, vocabulary, e);
  LayerBuilder heads("heads", e);
  heads.product(linear(1.0, hidden, hidden));
  heads.product(linear(predictions, hidden, hidden));
  heads.elementwise({4.0 * predictions * hidden, 6.0 * predictions * hidden, 4, 4, Share::whole});
  const auto append = [](std::vector<Kernel>& to, const std::vector<Kernel>& from) {
    to.insert(to.begin(), from.begin(), from.end());
  };
  append(output.forward, heads.layer().forward);
  append(output.backward_input, heads.layer().backward_input);
  append(output.backward_weight, heads.layer().backward_weight);
  output.parameters += 2.0 * (hidden * hidden + hidden) + vocabulary + 2.0 * hidden + 2.0;
  output.stored_bytes += e * tokens * hidden;  // its input, of which the predicted positions are taken
  model.layers.push_back(output);
  return model;
}

}  // namespace pptrain
