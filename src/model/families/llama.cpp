#include "model/families/config_keys.hpp"

namespace pptrain {
namespace {

/// Transformers' own class passes over `layer_types`, AutoModel makes another class's model of a
/// file with it.
void check_equal_layers(const ConfigJson& config, std::int64_t layers, std::int64_t window) {
  for (const std::int64_t named :
       layer_windows(config, layers, window, [](std::int64_t) { return true; })) {
    if (named == window) continue;
    config.refuse("layer_types", "some layers slide and others do not, or none with a window",
                  "MistralForCausalLM gives all layers sliding_window, AutoModel takes the file "
                  "for a Ministral",
                  "give all layers one type that fits sliding_window, or leave layer_types out");
  }
}

}  // namespace

/// Touvron et al., "LLaMA", 2023; Dubey et al., "The Llama 3 herd of models", 2024.
Model build_llama(const ConfigJson& config, const FamilyOptions& options) {
  LlamaShape shape = llama_shape("llama", config, options);
  shape.block.query_bias = shape.block.output_bias = config.boolean("attention_bias", false);
  shape.block.feed_forward_bias = config.boolean("mlp_bias", false);
  layer_windows(config, shape.layers, 0);  // none may slide
  config.only("pretraining_tp", std::int64_t{1}, "only whole products are computed");
  return build_llama_chain(shape);
}

/// Jiang et al., "Mistral 7B", 2023: each position sees the last `sliding_window` ones.
Model build_mistral(const ConfigJson& config, const FamilyOptions& options) {
  LlamaShape shape = llama_shape("mistral", config, options, {.key_heads = 8});
  const std::int64_t window =
      config.is_null("sliding_window") ? 0 : config.size("sliding_window", 4096);
  config.integer("sliding_window", 0);
  check_equal_layers(config, shape.layers, window);
  shape.windows.assign(static_cast<std::size_t>(shape.layers), window);
  return build_llama_chain(shape);
}

}  // namespace pptrain
