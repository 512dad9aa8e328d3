#include "planners/frames/device_speeds.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/infinity.hpp"
#include "cost/cost.hpp"

namespace pptrain {

const std::vector<double>& DeviceSpeeds::seconds_of(int kind, int tensor) const {
  const auto [entry, is_new] = known_.try_emplace({kind, tensor});
  std::vector<double>& seconds = entry->second;
  if (!is_new) return seconds;
  const std::string& name = instance_.cluster.device_kinds[static_cast<std::size_t>(kind)].name;
  for (const ProfileLayer& layer : instance_.profile.layers) {
    double least = infinity;
    // Times are linear between rows and proportional outside, so that some row has the least for a
    // sample.
    for (const ProfileRow& row : layer.rows) {
      if (row.device == name && row.tensor_parallel == tensor) {
        least = std::min(least, row.seconds.total() / row.samples);
      }
    }
    seconds.push_back(least);
  }
  seconds.push_back(std::accumulate(seconds.begin(), seconds.end(), 0.0));
  return seconds;
}

double DeviceSpeeds::least_seconds(const Site& site, const Shape& shape) const {
  double speed = 0.0;
  std::set<std::pair<int, int>> used;
  std::size_t place = 0;
  for (const StageRun& run : shape) {
    // A member has a part of its replica's speed.
    for (int j = 0; j < run.devices(); ++j, ++place) {
      const int kind = instance_.cluster.kind_index_of(site.devices[place]);
      speed += 1.0 / (seconds_of(kind, run.tensor).back() * run.tensor);
      used.emplace(kind, run.tensor);
    }
  }
  double spread = 0.0;  // of the whole model, each layer where it is fastest beside the others
  for (int l = 0; l < instance_.profile.num_layers(); ++l) {
    double part = infinity;
    for (const auto& [kind, tensor] : used) {
      const std::vector<double>& seconds = seconds_of(kind, tensor);
      part = std::min(part, seconds[static_cast<std::size_t>(l)] / seconds.back());
    }
    spread += part;
  }
  constexpr double rounding = 1.0 - 1e-9;
  return rounding * static_cast<double>(instance_.global_batch_size) * spread / speed;
}

}  // namespace pptrain
