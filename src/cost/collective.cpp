#include "cost/collective.hpp"

#include <algorithm>
#include <map>

#include "cost/two_level_sum.hpp"

namespace pptrain {

double all_reduce_seconds(const Link& slowest, int n, double bytes) {
  if (n <= 1) return 0.0;
  return all_reduce_share(n) * bytes / slowest.bandwidth + 2.0 * (n - 1) * slowest.latency;
}

double all_reduce_seconds(const Cluster& cluster, const std::vector<DeviceId>& group,
                          double bytes) {
  return all_reduce_seconds(cluster.slowest_link(group), static_cast<int>(group.size()), bytes);
}

double all_gather_seconds(const Link& slowest, int n, double bytes) {
  return 0.5 * all_reduce_seconds(slowest, n, bytes);
}

double all_to_all_seconds(const Link& slowest, int n, double bytes) {
  if (n <= 1) return 0.0;
  return (n - 1.0) / n * bytes / slowest.bandwidth + (n - 1) * slowest.latency;
}

TwoLevelSum two_level_sum(const Cluster& cluster, const std::vector<DeviceId>& group,
                          double bytes) {
  std::map<int, std::vector<DeviceId>> members;  // by node
  for (const DeviceId device : group) members[cluster.node_of(device)].push_back(device);
  double within = 0.0;
  std::vector<DeviceId> leaders;
  for (const auto& [node, devices] : members) {
    within = std::max(within, all_reduce_seconds(cluster, devices, bytes));
    leaders.push_back(devices.front());
  }
  return {within, all_reduce_seconds(cluster, leaders, bytes), static_cast<int>(leaders.size())};
}

double TwoLevelSum::seconds(double buckets) const {
  return std::max(within, across) + std::min(within, across) / buckets;
}

}  // namespace pptrain
