#include "probe/found_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "probe/gpu_rates.hpp"

namespace pptrain {
namespace {

bool alike(const NodeGroup& a, const NodeGroup& b) {
  const auto near = [](double x, double y) { return std::abs(x - y) <= 0.05 * std::max(x, y); };
  return a.kind == b.kind && a.switch_name == b.switch_name && a.device_kind == b.device_kind &&
         a.num_devices == b.num_devices && a.cores == b.cores && a.core_pool == b.core_pool &&
         near(a.link.bandwidth, b.link.bandwidth) && near(a.uplink.bandwidth, b.uplink.bandwidth) &&
         near(a.host_link.bandwidth, b.host_link.bandwidth);
}

/// The switches above a node, from the top: each but the first hangs below the one before it. Their
/// links are not known, so they limit nothing, but who describes the cluster to a planner may add
/// them.
void add_switches(Cluster& cluster, const std::vector<std::string>& names) {
  for (std::size_t i = 1; i < names.size(); ++i) {
    const bool known = std::any_of(cluster.switches.begin(), cluster.switches.end(),
                                   [&](const Switch& s) { return s.name == names[i]; });
    if (!known) cluster.switches.push_back({names[i], {}, names[i - 1]});
  }
}

/// Ranks share the host's memory, also from several containers.
DeviceKind kind_of(const ProbedNode& node, const CorePool& pool) {
  if (!node.gpu) {
    return {device_kind_name(node.host.cpu_model),
            node.host.memory_bytes / static_cast<double>(pool.ranks.size()), node.rates.flops,
            node.rates.memory_bandwidth};
  }
  return {device_kind_name(node.gpu->name), node.memory_bytes, peak_flops(*node.gpu),
          node.gpu->memory_bandwidth, node.reserve_bytes};
}

/// The smallest memory counts of a kind that several hosts have.
void add_kind(Cluster& cluster, const DeviceKind& kind) {
  const auto known = std::find_if(cluster.device_kinds.begin(), cluster.device_kinds.end(),
                                  [&](const DeviceKind& d) { return d.name == kind.name; });
  if (known == cluster.device_kinds.end()) {
    cluster.device_kinds.push_back(kind);
  } else if (kind.memory < known->memory) {
    known->memory = kind.memory;
    known->reserve = kind.reserve;
  }
}

/// Where a node hangs.
struct Place {
  bool has_uplink = false;
  std::string switch_name;
};

void add_node(Cluster& cluster, const ProbedNode& node, const std::vector<CorePool>& pools,
              const Place& place) {
  const CorePool& pool = pool_of(pools, node);
  const DeviceKind kind = kind_of(node, pool);
  add_kind(cluster, kind);
  NodeGroup group;
  group.kind = node.features.empty() ? node.host.cpu_model : node.features;
  group.device_kind = kind.name;
  group.num_devices = static_cast<int>(node.ranks.size());
  group.link = node.ranks.size() > 1 ? node.link : Link{};
  group.uplink = place.has_uplink ? node.uplink : Link{};
  group.host_link = node.host_link;
  group.switch_name = place.switch_name;
  if (pool.is_shared()) {
    group.cores = pool.num_cores;
    group.core_seconds = node.core_seconds;
    if (pool.ranks.size() > node.ranks.size())
      group.core_pool = fmt::format("pool {}", &pool - pools.data());
  }
  group.hosts = {node.host.name};
  if (!cluster.groups.empty() && alike(cluster.groups.back(), group)) {
    ++cluster.groups.back().count;
    cluster.groups.back().hosts.push_back(node.host.name);
  } else {
    cluster.groups.push_back(group);
  }
}

/// The switches above a host, where any are needed; the name of the lowest.
std::string add_switches_above(Cluster& cluster, const HostReport& host, bool has_uplink) {
  if (!has_uplink || host.switches.empty()) return "";
  add_switches(cluster, host.switches);
  return host.switches.back();
}

}  // namespace

Cluster found_cluster(const std::vector<ProbedNode>& nodes, const std::vector<CorePool>& pools,
                      const std::vector<Link>& host_uplinks) {
  Cluster cluster;
  cluster.name = host_uplinks.size() == 1 ? nodes.front().host.name : "discovered";
  const std::vector<std::size_t> starts = host_starts(nodes);
  for (std::size_t h = 0; h + 1 < starts.size(); ++h) {
    const bool several_hosts = host_uplinks.size() > 1;
    const HostReport& host = nodes[starts[h]].host;
    Place place = {several_hosts, add_switches_above(cluster, host, several_hosts)};
    if (starts[h + 1] - starts[h] > 1) {
      // The name may be that of a switch that Slurm knows.
      if (several_hosts)
        cluster.switches.push_back({"host " + host.name, host_uplinks[h], place.switch_name});
      place = {true, several_hosts ? "host " + host.name : ""};
    }
    for (std::size_t n = starts[h]; n < starts[h + 1]; ++n)
      add_node(cluster, nodes[n], pools, place);
  }
  return cluster;
}

std::string device_kind_name(const std::string& model) {
  std::string name;
  for (const char c : model) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!name.empty() && name.back() != '-' && c == ' ') {
      name += '-';
    }
  }
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name.empty() ? "cpu" : name;
}

}  // namespace pptrain
