#include "model/families/config_keys.hpp"

namespace pptrain {

/// Touvron et al., "LLaMA", 2023; Dubey et al., "The Llama 3 herd of models", 2024.
Model build_llama(const ConfigJson& config, const FamilyOptions& options) {
  LlamaShape shape = llama_shape("llama", config, options);
  shape.block.query_bias = shape.block.output_bias = config.boolean("attention_bias", false);
  shape.block.feed_forward_bias = config.boolean("mlp_bias", false);
  return build_llama_chain(shape);
}

/// Jiang et al., "Mistral 7B", 2023: each position sees the last `sliding_window` ones.
Model build_mistral(const ConfigJson& config, const FamilyOptions& options) {
  LlamaShape shape = llama_shape("mistral", config, options);
  const std::int64_t window = config.is_null("sliding_window") ? 0 : config.size("sliding_window", 4096);
  config.integer("sliding_window", 0);
  shape.windows = layer_windows(config, shape.layers, window, 0);
  return build_llama_chain(shape);
}

}  // namespace pptrain
