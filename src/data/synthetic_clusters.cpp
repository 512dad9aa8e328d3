#include "data/synthetic_clusters.hpp"

#include <algorithm>
#include <vector>

namespace pptrain {
namespace {

constexpr std::int64_t fewest_rows = 65536;
constexpr std::int64_t rows_per_class = 16;
constexpr std::int64_t most_held_back = 4096;

}  // namespace

SyntheticClusters::SyntheticClusters(const ClusterOptions& options)
    : options_(options),
      num_rows_(std::max(fewest_rows, rows_per_class * options.classes)),
      centres_(options.seed, "synthetic.centres"),
      points_(options.seed, "synthetic.points." + options.part) {}

std::int64_t SyntheticClusters::num_held_back() const {
  return std::clamp(options_.classes, synthetic_held_back, most_held_back);
}

void SyntheticClusters::row(std::int64_t index, const SampleSlot& slot) const {
  const std::int64_t label = index % options_.classes;
  if (slot.targets != nullptr) *slot.targets = static_cast<std::int32_t>(label);
  if (slot.features == nullptr) return;
  const auto inputs = static_cast<std::size_t>(options_.inputs);
  std::vector<float> centre(inputs);
  centres_.fill_normal(static_cast<std::uint64_t>(label * options_.inputs), inputs, centre.data());
  points_.fill_normal(static_cast<std::uint64_t>(index * options_.inputs), inputs, slot.features);
  for (std::size_t i = 0; i < inputs; ++i) slot.features[i] += centre[i];
}

}  // namespace pptrain
