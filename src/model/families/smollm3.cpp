#include <fmt/format.h>

#include "model/families/config_keys.hpp"

namespace pptrain {
namespace {

/// Whether the heads of each layer turn: `no_rope_layers` has a 1 where they do, or else every
/// `no_rope_layer_interval`th layer does without.
std::vector<bool> turning_layers(const ConfigJson& config, std::int64_t layers) {
  const std::int64_t interval = config.size("no_rope_layer_interval", 4);
  const std::vector<std::int64_t> listed = config.integers("no_rope_layers");
  std::vector<bool> turning;
  if (!config.has("no_rope_layers")) {
    for (std::int64_t i = 0; i < layers; ++i) turning.push_back((i + 1) % interval != 0);
    return turning;
  }
  if (static_cast<std::int64_t>(listed.size()) < layers) {
    config.refuse("no_rope_layers",
                  fmt::format("no_rope_layers has {} entries for {} layers", listed.size(), layers),
                  "each layer has one", "correct no_rope_layers or num_hidden_layers");
  }
  for (std::int64_t i = 0; i < layers; ++i)
    turning.push_back(listed[static_cast<std::size_t>(i)] != 0);
  return turning;
}

}  // namespace

/// Bakouch et al., "SmolLM3", 2025: Llama in which some layers have no positions (Yang et al.,
/// "RoPE to NoPE and back again", 2025), and a window where the configuration switches one on.
Model build_smollm3(const ConfigJson& config, const FamilyOptions& options) {
  LlamaShape shape = llama_shape("smollm3", config, options, {.key_heads = 4, .theta = 2e6});
  shape.chain.tied = config.boolean("tie_word_embeddings", true);
  shape.block.query_bias = shape.block.output_bias = config.boolean("attention_bias", false);
  shape.block.feed_forward_bias = config.boolean("mlp_bias", false);
  const std::vector<bool> turning = turning_layers(config, shape.layers);
  shape.windows = layer_windows(config, shape.layers, qwen_window(config, 0), [&](std::int64_t i) {
    return !turning[static_cast<std::size_t>(i)];
  });
  for (const bool turns : turning)
    shape.rotary.push_back(turns ? shape.block.rotary : RotaryForm());
  return build_llama_chain(shape);
}

}  // namespace pptrain
