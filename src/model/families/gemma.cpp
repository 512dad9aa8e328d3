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
  layer_windows(config, shape.layers, 0);  // none may slide
  config.only("use_bidirectional_attention", false, "attention is causal");
  return build_llama_chain(shape);
}

namespace {

void refuse_soft_cap(const ConfigJson& config, const std::string& key) {
  if (!config.has(key)) return;
  config.refuse(key, fmt::format("is {}", config.number(key)), "a soft cap would change every number",
                "use a model without it, as the published ones of this family are");
}

/// Each layer sees all earlier positions, or a window, with rotary positions of its own.
void read_kinds_of_layers(const ConfigJson& config, LlamaShape& shape) {
  const std::int64_t pattern = config.size("sliding_window_pattern", 6);
  if (config.is_null("sliding_window")) {
    config.refuse("sliding_window", "is null", "layers of sliding_attention cannot be computed without", "add a size");
  }
  shape.windows = layer_windows(config, shape.layers, config.size("sliding_window", 4096),
                                [&](std::int64_t i) { return (i + 1) % pattern != 0; });
  const std::int64_t size = shape.block.head_size;
  const RotaryForm global =
      rotary_form(config, read_rotary_of_kind(config, "full_attention", 1e6, "rope_theta", true), size);
  const RotaryForm local =
      rotary_form(config, read_rotary_of_kind(config, "sliding_attention", 1e4, "rope_local_base_freq", false), size,
                  "rope_local_base_freq");
  for (const std::int64_t window : shape.windows) shape.rotary.push_back(window == 0 ? global : local);
}

}  // namespace

/// Gemma team, "Gemma 3 technical report", 2025: norms before and behind both parts, norms of queries and keys, five
/// layers with a window for one without, which has other rotary positions.
Model build_gemma3_text(const ConfigJson& config, const FamilyOptions& options) {
  // Files with this model as a part leave out what is usual.
  LlamaShape shape = llama_shape("gemma3_text", config, options,
                                 {.key_heads = 4,
                                  .null_means_heads = false,
                                  .head_size = 256,
                                  .heads = 8,
                                  .vocabulary = 262208,
                                  .hidden = 2304,
                                  .own_rotary = true});
  BlockShape& block = shape.block;
  block.norm.one_plus = block.head_norms = true;
  block.norm_places = NormPlaces::both;
  block.activation = activation_of(config, "hidden_activation", tanh_form);
  block.query_bias = block.output_bias = config.boolean("attention_bias", false);
  block.score_scale = 1.0 / std::sqrt(static_cast<double>(config.size("query_pre_attn_scalar", 256)));
  shape.chain.tied = config.boolean("tie_word_embeddings", true);
  shape.chain.embedding_scale = std::sqrt(static_cast<double>(shape.chain.hidden));
  read_kinds_of_layers(config, shape);
  config.only("use_bidirectional_attention", false, "attention is causal");
  for (const char* key : {"attn_logit_softcapping", "final_logit_softcapping"}) refuse_soft_cap(config, key);
  return build_llama_chain(shape);
}

}  // namespace pptrain
