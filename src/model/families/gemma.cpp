#include <cmath>

#include "model/families/config_keys.hpp"

namespace pptrain {

/// Mesnard et al., "Gemma", 2024: gains of norms are 1 + w, the embedding is scaled, the gate is a GELU.
Model build_gemma(const ConfigJson& config, const FamilyOptions& options) {
  LlamaShape shape = llama_shape("gemma", config, options, 256);
  shape.block.norm.one_plus = true;
  // transformers computes the tanh form whatever `hidden_act` says, unless `hidden_activation` says more.
  shape.block.activation = activation_of(config, "hidden_activation", "gelu_pytorch_tanh");
  shape.chain.tied = config.boolean("tie_word_embeddings", true);
  shape.block.query_bias = shape.block.output_bias = config.boolean("attention_bias", false);
  shape.chain.embedding_scale = std::sqrt(static_cast<double>(shape.chain.hidden));
  config.only("use_bidirectional_attention", false, "attention is causal");
  return build_llama_chain(shape);
}

}  // namespace pptrain
