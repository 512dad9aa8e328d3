#include <fmt/format.h>

#include <cmath>

#include "model/families/config_keys.hpp"

namespace pptrain {

namespace {

constexpr const char* tanh_form = "gelu_pytorch_tanh";

/// Transformers 4.38 to 4.47 take `hidden_activation` and pass over `hidden_act`, later ones the other way round; the
/// releases mean the form by tanh where they say "gelu", as transformers 5 takes it.
Activation gate_of(const ConfigJson& config) {
  const std::string later_name = config.text("hidden_act", tanh_form);
  const std::string earlier_name = config.text("hidden_activation", tanh_form);
  const Activation later = activation_named(config, "hidden_act", later_name == "gelu" ? tanh_form : later_name);
  if (later == activation_named(config, "hidden_activation", earlier_name)) return later;
  config.refuse(config.has("hidden_activation") ? "hidden_activation" : "hidden_act",
                fmt::format("hidden_act is \"{}\" and hidden_activation \"{}\"", later_name, earlier_name),
                "versions of transformers differ in which of the two they follow",
                "give both keys the activation that the weights were trained with");
}

}  // namespace

/// Mesnard et al., "Gemma", 2024: gains of norms are 1 + w, the embedding is scaled, the gate is a GELU.
Model build_gemma(const ConfigJson& config, const FamilyOptions& options) {
  LlamaShape shape =
      llama_shape("gemma", config, options, {.key_heads = 16, .null_means_heads = false, .head_size = 256});
  shape.block.norm.one_plus = true;
  shape.block.activation = gate_of(config);
  shape.chain.tied = config.boolean("tie_word_embeddings", true);
  shape.block.query_bias = shape.block.output_bias = config.boolean("attention_bias", false);
  shape.chain.embedding_scale = std::sqrt(static_cast<double>(shape.chain.hidden));
  layer_windows(config, shape.layers, 0, 0);  // none may slide
  config.only("use_bidirectional_attention", false, "attention is causal");
  return build_llama_chain(shape);
}

}  // namespace pptrain
