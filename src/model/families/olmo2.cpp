#include "model/families/config_keys.hpp"

namespace pptrain {

/// OLMo et al., "2 OLMo 2 Furious", 2025: Llama whose norms are behind the parts, with norms of all
/// queries and of all keys together.
Model build_olmo2(const ConfigJson& config, const FamilyOptions& options) {
  LlamaShape shape = llama_shape("olmo2", config, options, {.epsilon = 1e-5});
  shape.block.norm_places = NormPlaces::behind;
  shape.block.whole_norms = true;
  shape.block.query_bias = shape.block.output_bias = config.boolean("attention_bias", false);
  return build_llama_chain(shape);
}

}  // namespace pptrain
