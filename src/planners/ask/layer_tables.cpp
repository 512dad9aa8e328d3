#include "planners/ask/layer_tables.hpp"

#include <fmt/format.h>

namespace pptrain {

std::string why_not_tabulated(const Instance& instance) {
  const int layers = instance.profile.num_layers();
  if (layers <= most_tabulated_layers) return "";
  return fmt::format(
      "it keeps the cost of every run of layers, which of {} layers are too many: {} at most",
      layers, most_tabulated_layers);
}

}  // namespace pptrain
