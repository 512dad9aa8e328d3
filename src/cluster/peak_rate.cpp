#include "cluster/peak_rate.hpp"

#include <algorithm>

namespace pptrain {

double peak_flop_rate(const Cluster& cluster, const NodeGroup& group,
                      const std::string& precision) {
  const auto kind =
      std::find_if(cluster.device_kinds.begin(), cluster.device_kinds.end(),
                   [&](const DeviceKind& each) { return each.name == group.device_kind; });
  const auto rate = kind->flops.find(precision);
  if (rate == kind->flops.end()) return 0.0;
  return rate->second *
         (group.shares_cores() ? static_cast<double>(group.cores) / group.core_sharers() : 1.0);
}

double peak_flop_rate(const Cluster& cluster, const std::string& precision) {
  double sum = 0.0;
  for (const NodeGroup& group : cluster.groups) {
    const double rate = peak_flop_rate(cluster, group, precision);
    if (rate == 0.0) return 0.0;
    sum += rate * group.num_devices * group.count;
  }
  return sum;
}

}  // namespace pptrain
