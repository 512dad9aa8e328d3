#include "runtime/feature_map_check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"

namespace pptrain {
namespace {

bool has_feature_maps(const Model& model) {
  const auto computes_one = [](const Operator& op) {
    return op.as<op::Convolution>() != nullptr || op.as<op::BatchNorm>() != nullptr || op.as<op::Pool>() != nullptr ||
           op.as<op::Flatten>() != nullptr;
  };
  return std::any_of(model.layers.begin(), model.layers.end(), [&](const Layer& layer) {
    const std::vector<Operator>& operators = layer.operators.operators;
    return std::any_of(operators.begin(), operators.end(), computes_one);
  });
}

}  // namespace

void check_feature_maps(const Config& config, const Model& model, const RankDevice& device) {
  if (device.names().empty() || !has_feature_maps(model)) return;
  throw_bad_input({config.where("model.from"), fmt::format("a {} where ranks compute with GPUs", model.name),
                   "convolutions are computed on the host alone", "use [job] device = \"host\""});
}

}  // namespace pptrain
