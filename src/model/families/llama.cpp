#include "model/families/config_keys.hpp"

namespace pptrain {

/// Touvron et al., "LLaMA", 2023; Dubey et al., "The Llama 3 herd of models", 2024.
Model build_llama(const ConfigJson& config, const FamilyOptions& options) {
  DecoderShape shape = llama_shape(config, options);
  shape.name = "llama";
  shape.query_bias = shape.output_bias = config.boolean("attention_bias", false);
  shape.feed_forward_bias = config.boolean("mlp_bias", false);
  return decoder(shape);
}

/// Jiang et al., "Mistral 7B", 2023: each position sees the last `sliding_window` ones.
Model build_mistral(const ConfigJson& config, const FamilyOptions& options) {
  DecoderShape shape = llama_shape(config, options);
  shape.name = "mistral";
  const std::int64_t window = config.is_null("sliding_window") ? 0 : config.size("sliding_window", 4096);
  config.integer("sliding_window", 0);
  shape.windows = layer_windows(config, shape.layers, window, 0);
  return decoder(shape);
}

}  // namespace pptrain
