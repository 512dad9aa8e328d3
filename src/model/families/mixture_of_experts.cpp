// Families whose feed-forward parts have experts.
#include <fmt/format.h>

#include <set>

#include "model/families/config_keys.hpp"

namespace pptrain {
namespace {

/// `layers`: blocks that may have experts.
ExpertForm expert_form(const ConfigJson& config, const std::string& count_key, std::int64_t count,
                       std::int64_t fallback_chosen, std::int64_t layers) {
  const ExpertForm form = {config.size(count_key, count),
                           config.size("num_experts_per_tok", fallback_chosen)};
  if (form.chosen > form.experts) {
    config.refuse(
        "num_experts_per_tok",
        fmt::format("num_experts_per_tok = {} with {} = {}", form.chosen, count_key, form.experts),
        "a position goes to several experts, each another one", "correct one of the two numbers");
  }
  // The numbers of experts are kept beside their weights, as numbers of fp32.
  constexpr std::int64_t most = 1 << 16;
  if (form.experts > most) {
    config.refuse(count_key, fmt::format("{} = {}", count_key, form.experts),
                  fmt::format("each expert has parameters of its own; at most {} are taken", most),
                  "use a model with fewer experts");
  }
  constexpr std::int64_t most_of_all = 1 << 18;
  if (form.experts * layers > most_of_all) {
    config.refuse(count_key, fmt::format("{} experts in each of {} layers", form.experts, layers),
                  fmt::format("each expert has parameters of its own; at most {} are taken in all",
                              most_of_all),
                  "use a model with fewer experts or layers");
  }
  return form;
}

/// Blocks that have one feed-forward part for all positions: those of `mlp_only_layers`, and all
/// but every `decoder_sparse_step`th.
std::vector<std::int64_t> dense_layers(const ConfigJson& config, std::int64_t layers) {
  const std::vector<std::int64_t> listed = config.integers("mlp_only_layers");
  const std::set<std::int64_t> named(listed.begin(), listed.end());
  const std::int64_t step = config.size("decoder_sparse_step", 1);
  std::vector<std::int64_t> dense;
  for (std::int64_t i = 0; i < layers; ++i) {
    if ((i + 1) % step != 0 || named.count(i) == 1) dense.push_back(i);
  }
  return dense;
}

/// The chain, in which the blocks without experts are `dense`, but for their windows.
ChainShape with_dense_layers(const ConfigJson& config, const LlamaShape& shape,
                             const BlockShape& dense) {
  ChainShape chain = llama_chain(shape);
  for (const std::int64_t i : dense_layers(config, shape.layers)) {
    BlockShape& replaced = chain.blocks[static_cast<std::size_t>(i)];
    const std::int64_t own_window = replaced.window;
    replaced = dense;
    replaced.window = own_window;
  }
  return chain;
}

}  // namespace

/// Jiang et al., "Mixtral of experts", 2024: Mistral, each feed-forward part of which has experts.
Model build_mixtral(const ConfigJson& config, const FamilyOptions& options) {
  LlamaShape shape =
      llama_shape("mixtral", config, options, {.key_heads = 8, .epsilon = 1e-5, .theta = 1e6});
  BlockShape& block = shape.block;
  const std::int64_t window = config.has("sliding_window") ? config.size("sliding_window") : 0;
  shape.windows.assign(static_cast<std::size_t>(shape.layers), window);
  block.experts = {expert_form(config, "num_local_experts", 8, 2, shape.layers),
                   true,
                   0.0,
                   0,
                   "block_sparse_moe",
                   "w1",
                   "w3",
                   "w2"};
  config.only("router_jitter_noise", 0.0, "rows go to experts as they are");
  return build_llama_chain(shape);
}

/// Qwen team, "Qwen1.5-MoE", 2024: Qwen2 with many small experts and one that all positions share.
Model build_qwen2_moe(const ConfigJson& config, const FamilyOptions& options) {
  LlamaShape shape =
      llama_shape("qwen2_moe", config, options, {.key_heads = 16, .null_means_heads = false});
  BlockShape& block = shape.block;
  block.query_bias = config.boolean("qkv_bias", true);
  const std::int64_t window = qwen_window(config);
  if (window > 0 && config.texts("layer_types").empty()) {
    config.refuse("use_sliding_window", "use_sliding_window = true without layer_types",
                  "versions of transformers differ in the layers that slide then",
                  "say it by layer_types");
  }
  config.integer("max_window_layers", 28);
  shape.windows = layer_windows(config, shape.layers, window);
  const BlockShape dense = block;
  block.experts.form = expert_form(config, "num_experts", 60, 4, shape.layers);
  block.experts.normalised = config.boolean("norm_topk_prob", false);
  block.experts.shared = config.size("shared_expert_intermediate_size", 5632, most_columns);
  block.feed_forward = config.size("moe_intermediate_size", 1408, most_columns);
  return build_chain(with_dense_layers(config, shape, dense));
}

/// Yang et al., "Qwen3 technical report", 2025: Qwen3 with many small experts.
Model build_qwen3_moe(const ConfigJson& config, const FamilyOptions& options) {
  LlamaShape shape =
      llama_shape("qwen3_moe", config, options, {.key_heads = 4, .null_means_heads = false});
  BlockShape& block = shape.block;
  block.head_norms = true;
  block.query_bias = block.output_bias = config.boolean("attention_bias", false);
  shape.windows.assign(static_cast<std::size_t>(shape.layers), qwen_window(config));
  const BlockShape dense = block;
  // Transformers 5 writes the number of experts by another name.
  const std::string count = config.has("num_local_experts") ? "num_local_experts" : "num_experts";
  block.experts.form = expert_form(config, count, 128, 8, shape.layers);
  config.only("num_experts", block.experts.form.experts, "num_local_experts says so");
  block.experts.normalised = config.boolean("norm_topk_prob", false);
  block.feed_forward = config.size("moe_intermediate_size", 768, most_columns);
  return build_chain(with_dense_layers(config, shape, dense));
}

}  // namespace pptrain
