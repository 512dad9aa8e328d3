#include <fmt/format.h>

#include "model/families/config_keys.hpp"

namespace pptrain {
namespace {

/// A factor that transformers' class takes as 1 where it is left out.
double multiplier(const ConfigJson& config, const std::string& key) {
  const double value = config.number(key, 1.0);
  if (value > 0.0) return value;
  config.refuse(key, fmt::format("is {}", value),
                "nothing would be left of what it multiplies or divides",
                "correct it: it is above 0");
}

}  // namespace

/// Granite team, "Granite 3.0 language models", 2024: Llama in which the embedding, the scores of
/// attention, what each part gives and the logits are scaled (Yang et al., "Tensor programs V",
/// 2022).
Model build_granite(const ConfigJson& config, const FamilyOptions& options) {
  LlamaShape shape = llama_shape("granite", config, options);
  BlockShape& block = shape.block;
  block.query_bias = block.output_bias = config.boolean("attention_bias", false);
  block.feed_forward_bias = config.boolean("mlp_bias", false);
  block.score_scale = multiplier(config, "attention_multiplier");
  block.part_scale = multiplier(config, "residual_multiplier");
  shape.chain.embedding_scale = multiplier(config, "embedding_multiplier");
  shape.chain.logit_scale = 1.0 / multiplier(config, "logits_scaling");
  return build_llama_chain(shape);
}

}  // namespace pptrain
