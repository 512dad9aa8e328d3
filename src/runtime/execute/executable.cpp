#include "runtime/execute/executable.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "plan/patterns.hpp"

namespace pptrain {
namespace {

/// Columns of what computes the loss are its classes, which Megatron divides in the same way.
bool executes(const Layer& layer, TensorPattern pattern) {
  const bool by_rows = layer.has_division(WeightDivision::rows);
  if (pattern == TensorPattern::sp2) return by_rows;
  return pattern != TensorPattern::sp1 || by_rows || layer.computes_loss();
}

void check_pattern(const Block& block, const Model& model, const std::string& place) {
  for (std::int64_t l = block.layers.begin; l < block.layers.end; ++l) {
    const Layer& layer = model.layers[static_cast<std::size_t>(l)];
    if (executes(layer, block.pattern)) continue;
    throw_bad_input({place + ".pattern",
                     fmt::format("\"{}\" of layer {} ({})", pattern_names().name_of(block.pattern),
                                 l, layer.name),
                     "it is divided as Megatron does", "write \"megatron\""});
  }
}

/// Along the inputs, too, every member holds at least one.
void check_rows(const Block& block, const Model& model, const std::string& place) {
  if (block.pattern != TensorPattern::sp2) return;
  for (std::int64_t l = block.layers.begin; l < block.layers.end; ++l) {
    for (const ParameterSpec& spec : model.layers[static_cast<std::size_t>(l)].parameters) {
      const std::int64_t length = model.axis_size(spec.row_axis);
      if (block.tensor_parallel <= length) continue;
      throw_bad_input({place,
                       fmt::format("tensor_parallel = {}, but the model has {} {}",
                                   block.tensor_parallel, length, to_string(spec.row_axis)),
                       "each member holds at least one",
                       fmt::format("use at most {} members", length)});
    }
  }
}

}  // namespace

void check_blocks_executable(const Plan& plan, const Model& model, const std::string& source) {
  for (int s = 0; s < plan.num_stages(); ++s) {
    const Stage& stage = plan.stages[static_cast<std::size_t>(s)];
    const std::string place = fmt::format("{}: stages[{}].blocks", source, s);
    for (std::size_t b = 0; b < stage.blocks.size(); ++b) {
      check_pattern(stage.blocks[b], model, fmt::format("{}[{}]", place, b));
      check_rows(stage.blocks[b], model, fmt::format("{}[{}]", place, b));
    }
  }
}

}  // namespace pptrain
