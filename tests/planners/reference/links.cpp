#include <algorithm>
#include <cmath>

#include "planners/reference/cost.hpp"

namespace pptrain::reference {

namespace {

/// Names of the switches above a node, nearest first.
std::vector<std::string> switches_above(const Cluster& cluster, const NodeGroup& group) {
  std::vector<std::string> names;
  std::string name = group.switch_name;
  while (!name.empty()) {
    names.push_back(name);
    std::string parent;
    for (const Switch& s : cluster.switches) {
      if (s.name == name) parent = s.parent;
    }
    name = parent;
  }
  return names;
}

void pass(Path& path, const Link& link) {
  path.bandwidth = std::min(path.bandwidth, link.bandwidth);
  path.latency = std::max(path.latency, link.latency);
}

/// Passes the uplinks of the switches above one end that are not above the other.
void pass_switches(Path& path, const Cluster& cluster, const std::vector<std::string>& mine,
                   const std::vector<std::string>& others) {
  for (const std::string& name : mine) {
    if (std::find(others.begin(), others.end(), name) != others.end()) continue;
    for (const Switch& s : cluster.switches) {
      if (s.name == name && s.uplink.bandwidth > 0.0) pass(path, s.uplink);
    }
  }
}

}  // namespace

Path path(const Cluster& cluster, DeviceId a, DeviceId b) {
  const NodeGroup& group_a = cluster.group_of_node(cluster.node_of(a));
  const NodeGroup& group_b = cluster.group_of_node(cluster.node_of(b));
  Path result = {INFINITY, 0.0};
  if (cluster.node_of(a) == cluster.node_of(b)) {
    pass(result, group_a.link);
    return result;
  }
  pass(result, group_a.uplink);
  pass(result, group_b.uplink);
  const std::vector<std::string> above_a = switches_above(cluster, group_a);
  const std::vector<std::string> above_b = switches_above(cluster, group_b);
  pass_switches(result, cluster, above_a, above_b);
  pass_switches(result, cluster, above_b, above_a);
  return result;
}

Path slowest_path(const Cluster& cluster, const std::vector<DeviceId>& group) {
  Path slowest = {INFINITY, 0.0};
  for (std::size_t a = 0; a < group.size(); ++a) {
    for (std::size_t b = a + 1; b < group.size(); ++b) {
      const Path pair = path(cluster, group[a], group[b]);
      slowest = {std::min(slowest.bandwidth, pair.bandwidth),
                 std::max(slowest.latency, pair.latency)};
    }
  }
  return slowest;
}

double all_reduce(const Cluster& cluster, const std::vector<DeviceId>& group, double bytes) {
  if (group.size() == 1) return 0.0;
  const Path slowest = slowest_path(cluster, group);
  const auto n = static_cast<double>(group.size());
  return 2.0 * (n - 1.0) / n * bytes / slowest.bandwidth + 2.0 * (n - 1.0) * slowest.latency;
}

double all_gather(const Cluster& cluster, const std::vector<DeviceId>& group, double bytes) {
  return all_reduce(cluster, group, bytes) / 2.0;
}

}  // namespace pptrain::reference
