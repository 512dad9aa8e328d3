#include "runtime/attention_check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"

namespace pptrain {

bool needs_host_attention(const Model& model) {
  return std::any_of(model.layers.begin(), model.layers.end(), [](const Layer& layer) {
    const auto& operators = layer.operators.operators;
    return std::any_of(operators.begin(), operators.end(), [](const Operator& op) {
      const auto* attention = op.as<op::SelfAttention>();
      return attention != nullptr && (attention->of_source || attention->buckets.count > 0);
    });
  });
}

void check_attention(const Config& config, const Model& model, const RankDevice& device) {
  if (device.names().empty() || !needs_host_attention(model)) return;
  throw_bad_input({config.where("model.from"), fmt::format("a {} where ranks compute with GPUs", model.name),
                   "attention to a source, and with a bias by distance, is computed on the host alone",
                   "use [job] device = \"host\""});
}

}  // namespace pptrain
