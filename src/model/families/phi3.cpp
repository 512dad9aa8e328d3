#include <fmt/format.h>

#include "model/families/config_keys.hpp"

namespace pptrain {
namespace {

/// Positions of a part of each head, without any scaling: the class of transformers knows one that
/// changes with the length of a text beside.
RotaryForm turning_part(const ConfigJson& config, std::int64_t head_size) {
  const RotaryConfig read = read_rotary(config, 10000.0);
  if (read.type != "default") {
    config.refuse(
        config.has("rope_scaling") ? "rope_scaling" : "rope_parameters",
        fmt::format("rotary positions of type \"{}\"", read.type),
        "its frequencies differ between short and long texts, and no model is trained so here",
        "use a model of the family whose positions are not scaled");
  }
  const std::int64_t rotated = rotated_columns(config, head_size, "partial_rotary_factor", 1.0);
  if (rotated % 2 == 0) return rotary_form(config, read, rotated);
  config.refuse("partial_rotary_factor", fmt::format("{} columns of each head turn", rotated),
                "pairs of columns turn", "correct it");
}

}  // namespace

/// Abdin et al., "Phi-3 technical report", 2024: Llama whose files hold queries, keys and values as
/// one tensor, and the two products of the gate as another.
Model build_phi3(const ConfigJson& config, const FamilyOptions& options) {
  LlamaShape shape = llama_shape("phi3", config, options, {.epsilon = 1e-5, .own_rotary = true});
  shape.block.packed_files = true;
  shape.block.rotary = turning_part(config, shape.block.head_size);
  const std::int64_t window = config.has("sliding_window") ? config.size("sliding_window") : 0;
  shape.windows.assign(static_cast<std::size_t>(shape.layers), window);
  config.integer("original_max_position_embeddings", 0);  // the length up to which positions are
                                                          // not scaled
  return build_llama_chain(shape);
}

}  // namespace pptrain
