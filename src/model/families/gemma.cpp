#include <fmt/format.h>

#include <cmath>

#include "model/families/config_keys.hpp"

namespace pptrain {

namespace {

constexpr const char* tanh_form = "gelu_pytorch_tanh";

/// Transformers 4.38 to 4.47 take `hidden_activation` and pass over `hidden_act`, later ones the
/// other way round; the releases mean the form by tanh where they say "gelu", as transformers 5
/// takes it.
Activation gate_of(const ConfigJson& config) {
  const std::string later_name = config.text("hidden_act", tanh_form);
  const std::string earlier_name = config.text("hidden_activation", tanh_form);
  const Activation later =
      activation_named(config, "hidden_act", later_name == "gelu" ? tanh_form : later_name);
  if (later == activation_named(config, "hidden_activation", earlier_name)) return later;
  config.refuse(
      config.has("hidden_activation") ? "hidden_activation" : "hidden_act",
      fmt::format("hidden_act is \"{}\" and hidden_activation \"{}\"", later_name, earlier_name),
      "versions of transformers differ in which of the two they follow",
      "give both keys the activation that the weights were trained with");
}

}  // namespace

/// Mesnard et al., "Gemma", 2024: gains of norms are 1 + w, the embedding is scaled, the gate is a
/// GELU.
Model build_gemma(const ConfigJson& config, const FamilyOptions& options) {
  LlamaShape shape = llama_shape("gemma", config, options,
                                 {.key_heads = 16, .null_means_heads = false, .head_size = 256});
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

/// What scores or logits are held within; 0: nothing, where the key is null or left out without a
/// fallback.
double soft_cap_of(const ConfigJson& config, const std::string& key, double fallback) {
  if (config.is_null(key)) return 0.0;
  const double cap = config.number(key, fallback);
  if (cap > 0.0 || !config.has(key)) return cap;
  config.refuse(key, fmt::format("is {}", cap), "nothing fits within it",
                "correct it: it is above 0, or null for none");
}

/// The caps of a class of transformers, where the file leaves them out; 0: none.
struct SoftCaps {
  double of_scores, of_logits;
};

/// What the classes of Gemma 2 and 3 have in common: norms before and behind both parts, an own
/// scale of scores, and soft caps of scores and logits.
LlamaShape later_shape(const std::string& name, const ConfigJson& config,
                       const FamilyOptions& options, const LlamaDefaults& defaults,
                       const SoftCaps& caps) {
  LlamaShape shape = llama_shape(name, config, options, defaults);
  BlockShape& block = shape.block;
  block.norm.one_plus = true;
  block.norm_places = NormPlaces::both;
  block.activation = activation_of(config, "hidden_activation", tanh_form);
  block.query_bias = block.output_bias = config.boolean("attention_bias", false);
  block.score_scale =
      1.0 / std::sqrt(static_cast<double>(config.size("query_pre_attn_scalar", 256)));
  block.score_cap = soft_cap_of(config, "attn_logit_softcapping", caps.of_scores);
  shape.chain.logit_cap = soft_cap_of(config, "final_logit_softcapping", caps.of_logits);
  shape.chain.tied = config.boolean("tie_word_embeddings", true);
  shape.chain.embedding_scale = std::sqrt(static_cast<double>(shape.chain.hidden));
  config.only("use_bidirectional_attention", false, "attention is causal");
  return shape;
}

/// The window of the layers that slide by default, every `pattern`-th of which does not.
std::vector<std::int64_t> windows_in_turn(const ConfigJson& config, std::int64_t layers,
                                          std::int64_t pattern) {
  if (config.is_null("sliding_window")) {
    config.refuse("sliding_window", "is null",
                  "layers of sliding_attention cannot be computed without", "add a size");
  }
  return layer_windows(config, layers, config.size("sliding_window", 4096),
                       [&](std::int64_t i) { return (i + 1) % pattern != 0; });
}

/// Each layer sees all earlier positions, or a window, with rotary positions of its own.
void read_kinds_of_layers(const ConfigJson& config, LlamaShape& shape) {
  shape.windows = windows_in_turn(config, shape.layers, config.size("sliding_window_pattern", 6));
  const std::int64_t size = shape.block.head_size;
  const RotaryForm global = rotary_form(
      config, read_rotary_of_kind(config, "full_attention", 1e6, "rope_theta", true), size);
  const RotaryForm local = rotary_form(
      config, read_rotary_of_kind(config, "sliding_attention", 1e4, "rope_local_base_freq", false),
      size, "rope_local_base_freq");
  for (const std::int64_t window : shape.windows)
    shape.rotary.push_back(window == 0 ? global : local);
}

}  // namespace

/// Gemma team, "Gemma 2: improving open language models at a practical size", 2024: norms before
/// and behind both parts, every other layer with a window, scores and logits held within caps.
Model build_gemma2(const ConfigJson& config, const FamilyOptions& options) {
  LlamaShape shape = later_shape("gemma2", config, options,
                                 {.key_heads = 4,
                                  .null_means_heads = false,
                                  .head_size = 256,
                                  .heads = 8,
                                  .vocabulary = 256000,
                                  .hidden = 2304},
                                 {.of_scores = 50.0, .of_logits = 30.0});
  shape.windows = windows_in_turn(config, shape.layers, 2);
  return build_llama_chain(shape);
}

/// Gemma team, "Gemma 3 technical report", 2025: norms of queries and keys in place of caps, five
/// layers with a window for one without, which has other rotary positions.
Model build_gemma3_text(const ConfigJson& config, const FamilyOptions& options) {
  // Files with this model as a part leave out what is usual.
  LlamaShape shape = later_shape("gemma3_text", config, options,
                                 {.key_heads = 4,
                                  .null_means_heads = false,
                                  .head_size = 256,
                                  .heads = 8,
                                  .vocabulary = 262208,
                                  .hidden = 2304,
                                  .own_rotary = true},
                                 {.of_scores = 0.0, .of_logits = 0.0});
  shape.block.head_norms = true;
  read_kinds_of_layers(config, shape);
  return build_llama_chain(shape);
}

}  // namespace pptrain
