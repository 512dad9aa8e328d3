#include "model/families/config_keys.hpp"

namespace pptrain {
namespace {

/// Layers from `max_window_layers` on see a window, where the configuration switches that on.
std::vector<std::int64_t> qwen_windows(const ConfigJson& config, std::int64_t layers) {
  const std::int64_t first = config.integer("max_window_layers", 28);
  return layer_windows(config, layers, qwen_window(config),
                       [&](std::int64_t i) { return i >= first; });
}

}  // namespace

/// Yang et al., "Qwen2 technical report", 2024: Llama with biases of queries, keys and values.
Model build_qwen2(const ConfigJson& config, const FamilyOptions& options) {
  LlamaShape shape = llama_shape("qwen2", config, options, {.key_heads = 32});
  shape.block.query_bias = true;
  shape.windows = qwen_windows(config, shape.layers);
  return build_llama_chain(shape);
}

/// Yang et al., "Qwen3 technical report", 2025: norms of queries and keys in place of biases.
Model build_qwen3(const ConfigJson& config, const FamilyOptions& options) {
  LlamaShape shape = llama_shape("qwen3", config, options, {.key_heads = 32, .head_size = 128});
  shape.block.head_norms = true;
  shape.block.query_bias = shape.block.output_bias = config.boolean("attention_bias", false);
  shape.windows = qwen_windows(config, shape.layers);
  return build_llama_chain(shape);
}

}  // namespace pptrain
