#include "cluster/peak_rate.hpp"

#include <map>

namespace pptrain {

std::vector<int> used_core_sharers(const Cluster& cluster, const std::vector<bool>& used) {
  std::vector<int> sharers(static_cast<std::size_t>(cluster.num_nodes()), 0);
  std::map<std::string, int> of_pools;
  for (int node = 0; node < cluster.num_nodes(); ++node) {
    int& here = sharers[static_cast<std::size_t>(node)];
    for (const DeviceId device : cluster.devices_of_node(node)) here += used[device.index()];
    of_pools[cluster.group_of_node(node).core_pool] += here;
  }
  for (int node = 0; node < cluster.num_nodes(); ++node) {
    const std::string& pool = cluster.group_of_node(node).core_pool;
    if (!pool.empty()) sharers[static_cast<std::size_t>(node)] = of_pools[pool];
  }
  return sharers;
}

std::vector<double> peak_flop_rates(const Cluster& cluster, const std::vector<bool>& used,
                                    const std::string& precision) {
  const std::vector<int> sharers = used_core_sharers(cluster, used);
  std::vector<double> rates(used.size(), 0.0);
  for (std::size_t d = 0; d < used.size(); ++d) {
    const DeviceId device(static_cast<int>(d));
    const auto& flops = cluster.kind_of(device).flops;
    const auto rate = flops.find(precision);
    if (!used[d] || rate == flops.end()) continue;
    const int node = cluster.node_of(device);
    const int cores = cluster.group_of_node(node).cores;
    const int on_them = sharers[static_cast<std::size_t>(node)];
    rates[d] =
        rate->second * (cores > 0 && cores < on_them ? cores / static_cast<double>(on_them) : 1.0);
  }
  return rates;
}

double peak_flop_rate(const Cluster& cluster, const std::vector<bool>& used,
                      const std::string& precision) {
  const std::vector<double> rates = peak_flop_rates(cluster, used, precision);
  double sum = 0.0;
  for (std::size_t d = 0; d < used.size(); ++d) {
    if (used[d] && rates[d] == 0.0) return 0.0;
    sum += rates[d];
  }
  return sum;
}

}  // namespace pptrain
