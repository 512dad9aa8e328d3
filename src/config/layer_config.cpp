#include "config/layer_config.hpp"

#include <cstddef>
#include <utility>

namespace pptrain {
namespace {

template <std::size_t... kinds>
std::vector<LayerConfig> layers_of(std::index_sequence<kinds...>) {
  return {LayerConfig{std::variant_alternative_t<kinds, LayerConfig::Kind>()}...};
}

}  // namespace

std::string LayerConfig::name() const {
  return std::visit([](const auto& layer) { return layer.name; }, kind);
}

std::vector<LayerConfig> layers_of_all_kinds() {
  return layers_of(std::make_index_sequence<std::variant_size_v<LayerConfig::Kind>>());
}

}  // namespace pptrain
