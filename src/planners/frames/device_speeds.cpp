#include "planners/frames/device_speeds.hpp"

#include <algorithm>

#include "base/infinity.hpp"
#include "cost/cost.hpp"

namespace pptrain {

double DeviceSpeeds::seconds_of(int kind, int tensor) const {
  const auto [entry, is_new] = known_.try_emplace({kind, tensor}, 0.0);
  if (!is_new) return entry->second;
  const std::string& name = instance_.cluster.device_kinds[static_cast<std::size_t>(kind)].name;
  for (const ProfileLayer& layer : instance_.profile.layers) {
    double least = infinity;
    // Times are linear between rows and proportional outside, so that some row has the least for a sample.
    for (const ProfileRow& row : layer.rows) {
      if (row.device == name && row.tensor_parallel == tensor) {
        least = std::min(least, row.seconds.total() / row.samples);
      }
    }
    entry->second += least;
  }
  return entry->second;
}

double DeviceSpeeds::least_seconds(const Site& site, const Shape& shape) const {
  double speed = 0.0;
  std::size_t place = 0;
  for (const StageRun& run : shape) {
    for (int j = 0; j < run.stages * run.data; ++j, place += static_cast<std::size_t>(run.tensor)) {
      speed += 1.0 / seconds_of(instance_.cluster.kind_index_of(site.devices[place]), run.tensor);
    }
  }
  constexpr double rounding = 1.0 - 1e-9;
  return rounding * static_cast<double>(instance_.global_batch_size) / speed;
}

}  // namespace pptrain
