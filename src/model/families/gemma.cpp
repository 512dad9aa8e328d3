#include <cmath>

#include "model/families/config_keys.hpp"

namespace pptrain {

/// Mesnard et al., "Gemma", 2024: gains of norms are 1 + w, the embedding is scaled, the gate is a GELU.
Model build_gemma(const ConfigJson& config, const FamilyOptions& options) {
  DecoderShape shape = llama_shape(config, options, 256);
  shape.name = "gemma";
  shape.norm.one_plus = true;
  // transformers computes the tanh form whatever `hidden_act` says, unless `hidden_activation` says more.
  shape.activation = activation_of(config, "hidden_activation", "gelu_pytorch_tanh");
  shape.tied = config.boolean("tie_word_embeddings", true);
  shape.query_bias = shape.output_bias = config.boolean("attention_bias", false);
  shape.embedding_scale = std::sqrt(static_cast<double>(shape.hidden));
  config.only("use_bidirectional_attention", false, "attention is causal");
  return decoder(shape);
}

}  // namespace pptrain
