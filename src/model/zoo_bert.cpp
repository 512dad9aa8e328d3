#include <fmt/format.h>

#include "model/transformer.hpp"
#include "model/zoo_models.hpp"

namespace pptrain {
namespace {

// Devlin et al., BERT, 2018, section 3: 24 layers, hidden size 1024, 16 heads, 340M parameters.
// Sequences of 128 tokens for 90 % of the steps (appendix A.2). The vocabulary of 30522 and 20
// predictions per sequence are those of the authors' release.
constexpr int num_layers = 24;
constexpr int num_heads = 16;
constexpr double hidden = 1024.0;
constexpr double vocabulary = 30522.0;
constexpr double positions = 512.0;
constexpr double segments = 2.0;
constexpr double tokens = 128.0;
constexpr double predictions = 20.0;

void put_before(std::vector<Kernel>& pass, const std::vector<Kernel>& first) {
  pass.insert(pass.begin(), first.begin(), first.end());
}

/// The pooler with the next-sentence classes, and the masked tokens' prediction.
LayerDescription heads_and_output(double e) {
  LayerDescription output = output_layer("output", predictions, hidden, vocabulary, e);
  LayerBuilder heads("heads", e);
  heads.product(linear(1.0, hidden, hidden));
  heads.product(linear(predictions, hidden, hidden));
  heads.elementwise({4.0 * predictions * hidden, 6.0 * predictions * hidden, 4, 4, Share::whole});
  put_before(output.forward, heads.layer().forward);
  put_before(output.backward_input, heads.layer().backward_input);
  put_before(output.backward_weight, heads.layer().backward_weight);
  // Both products with biases, the classes, and the biases of the vocabulary.
  output.parameters += 2.0 * (hidden * hidden + hidden) + 2.0 * hidden + 2.0 + vocabulary;
  output.stored_bytes += e * tokens * hidden;  // its input, of which the predicted positions are taken
  return output;
}

}  // namespace

ModelDescription bert_large(Precision precision) {
  const double e = element_bytes(precision);
  ModelDescription model;
  model.precision = precision;
  model.tensor_parallel_degrees = dividing_degrees(num_heads);
  model.axes = {{"heads", num_heads},
                {"columns", static_cast<std::int64_t>(4.0 * hidden)},
                {"vocabulary", static_cast<std::int64_t>(vocabulary)}};
  model.shared_parameters = vocabulary * hidden;
  const double tables = (vocabulary + positions + segments) * hidden + 2.0 * hidden;  // and a normalisation
  model.layers.push_back(embedding_layer("embedding", tokens, hidden, tables, e));
  const TransformerSizes block = {tokens, hidden, num_heads, 4.0 * hidden, tokens};
  for (int i = 0; i < num_layers; ++i) model.layers.push_back(transformer_layer(fmt::format("layer.{}", i), block, e));
  model.layers.push_back(heads_and_output(e));
  return model;
}

}  // namespace pptrain
