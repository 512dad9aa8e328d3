#include "runtime/execute/expert_loads.hpp"

#include <algorithm>

namespace pptrain {

ExpertLoads::ExpertLoads(const Model& model) {
  for (const Layer& layer : model.layers)
    columns_.experts = std::max(columns_.experts, layer.num_experts());
  for (std::int64_t l = 0; l < model.num_layers(); ++l) {
    const Layer& layer = model.layers[static_cast<std::size_t>(l)];
    if (layer.num_experts() == 0) continue;
    place_[l] = static_cast<std::size_t>(columns_.size());
    columns_.layers.push_back(layer.name);
  }
  rows_.resize(static_cast<std::size_t>(columns_.size()));
}

double* ExpertLoads::of(std::int64_t layer) {
  const auto found = place_.find(layer);
  return found == place_.end() ? nullptr : rows_.data() + found->second;
}

}  // namespace pptrain
