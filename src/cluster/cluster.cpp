#include "cluster/cluster.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/error.hpp"

namespace pptrain {
namespace {

constexpr Link no_limit = {std::numeric_limits<double>::infinity(), 0.0};

/// Adds a link to a path. Links that are not given limit nothing.
void pass(Link& path, const Link& link) {
  if (link.bandwidth > 0.0) path.bandwidth = std::min(path.bandwidth, link.bandwidth);
  path.latency = std::max(path.latency, link.latency);
}

/// Index of the last start that is not beyond `value`.
int interval_of(const std::vector<int>& starts, int value) {
  return static_cast<int>(std::upper_bound(starts.begin(), starts.end(), value) - starts.begin()) -
         1;
}

int find_switch(const std::vector<Switch>& switches, const std::string& name) {
  for (std::size_t i = 0; i < switches.size(); ++i) {
    if (switches[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

void Cluster::finish(const std::string& source) {
  finish(
      [&source](const std::string& path) { return path.empty() ? source : source + ": " + path; });
}

void Cluster::finish(const std::function<std::string(const std::string& path)>& locate) {
  check(locate);
  build_index();
  build_switch_index();
}

void Cluster::build_index() {
  std::map<std::string, int> pools;
  for (const NodeGroup& group : groups) pools[group.core_pool] += group.count * group.num_devices;
  for (NodeGroup& group : groups)
    group.pool_devices = group.core_pool.empty() ? 0 : pools[group.core_pool];
  first_device_.clear();
  first_node_.clear();
  kind_index_.clear();
  num_devices_ = 0;
  num_nodes_ = 0;
  for (const NodeGroup& group : groups) {
    first_device_.push_back(num_devices_);
    first_node_.push_back(num_nodes_);
    num_devices_ += group.count * group.num_devices;
    num_nodes_ += group.count;
    const auto kind =
        std::find_if(device_kinds.begin(), device_kinds.end(),
                     [&group](const DeviceKind& k) { return k.name == group.device_kind; });
    kind_index_.push_back(static_cast<int>(kind - device_kinds.begin()));
  }
}

void Cluster::build_switch_index() {
  switch_index_.clear();
  switch_parent_.clear();
  for (const NodeGroup& group : groups)
    switch_index_.push_back(find_switch(switches, group.switch_name));
  for (const Switch& s : switches) switch_parent_.push_back(find_switch(switches, s.parent));
  switch_depth_.assign(switches.size(), 0);
  for (std::size_t i = 0; i < switches.size(); ++i) {
    for (int s = static_cast<int>(i); s >= 0; s = switch_parent_[s]) ++switch_depth_[i];
  }
}

int Cluster::group_of(DeviceId device) const {
  PPTRAIN_ASSERT(device.value >= 0 && device.value < num_devices_, "device {} of {}", device.value,
                 num_devices_);
  return interval_of(first_device_, device.value);
}

bool Cluster::has_host_links() const {
  return std::all_of(groups.begin(), groups.end(),
                     [](const NodeGroup& g) { return g.host_link.bandwidth > 0.0; });
}

int Cluster::node_of(DeviceId device) const {
  const int group = group_of(device);
  return first_node_[group] + (device.value - first_device_[group]) / groups[group].num_devices;
}

int Cluster::group_of_node_index(int node) const {
  PPTRAIN_ASSERT(node >= 0 && node < num_nodes_, "node {} of {}", node, num_nodes_);
  return interval_of(first_node_, node);
}

const NodeGroup& Cluster::group_of_node(int node) const {
  return groups[group_of_node_index(node)];
}

std::vector<DeviceId> Cluster::devices_of_node(int node) const {
  const int group = group_of_node_index(node);
  const int num = groups[group].num_devices;
  std::vector<DeviceId> devices;
  for (int k = 0; k < num; ++k)
    devices.emplace_back(first_device_[group] + (node - first_node_[group]) * num + k);
  return devices;
}

Link Cluster::path(DeviceId a, DeviceId b) const {
  Link path = no_limit;
  if (a == b) return path;
  const int node_a = node_of(a);
  const int node_b = node_of(b);
  const int group_a = group_of(a);
  const int group_b = group_of(b);
  if (node_a == node_b) {
    pass(path, groups[group_a].link);
    return path;
  }
  pass(path, groups[group_a].uplink);
  pass(path, groups[group_b].uplink);
  int s = switch_index_[group_a];
  int t = switch_index_[group_b];
  const auto depth = [this](int i) { return i < 0 ? 0 : switch_depth_[i]; };
  while (s != t) {
    int& deeper = depth(s) >= depth(t) ? s : t;
    pass(path, switches[deeper].uplink);
    deeper = switch_parent_[deeper];
  }
  return path;
}

std::vector<Uplink> Cluster::uplinks(DeviceId from, DeviceId to) const {
  std::vector<Uplink> passed;
  const int node_from = node_of(from);
  const int node_to = node_of(to);
  if (node_from == node_to) return passed;
  const auto add = [&passed](int owner, Uplink::Direction direction, const Link& link) {
    if (link.bandwidth > 0.0) passed.push_back({owner, direction, link});
  };
  add(node_from, Uplink::Direction::up, groups[group_of(from)].uplink);
  add(node_to, Uplink::Direction::down, groups[group_of(to)].uplink);
  int s = switch_index_[group_of(from)];
  int t = switch_index_[group_of(to)];
  const auto depth = [this](int i) { return i < 0 ? 0 : switch_depth_[i]; };
  while (s != t) {
    const bool climbs = depth(s) >= depth(t);
    int& deeper = climbs ? s : t;
    add(num_nodes_ + deeper, climbs ? Uplink::Direction::up : Uplink::Direction::down,
        switches[deeper].uplink);
    deeper = switch_parent_[deeper];
  }
  return passed;
}

std::vector<Uplink> Cluster::ring_uplinks(const std::vector<DeviceId>& group) const {
  std::map<int, DeviceId> nodes;  // one device of each
  for (const DeviceId device : group) nodes.try_emplace(node_of(device), device);
  std::vector<Uplink> passed;
  if (nodes.size() < 2) return passed;
  std::set<std::pair<int, Uplink::Direction>> known;
  DeviceId before = nodes.rbegin()->second;
  for (const auto& [node, device] : nodes) {
    for (const Uplink& uplink : uplinks(before, device)) {
      if (known.insert({uplink.owner, uplink.direction}).second) passed.push_back(uplink);
    }
    before = device;
  }
  return passed;
}

double Cluster::bandwidth(DeviceId a, DeviceId b) const { return path(a, b).bandwidth; }
double Cluster::latency(DeviceId a, DeviceId b) const { return path(a, b).latency; }

Link Cluster::slowest_link(const std::vector<DeviceId>& group) const {
  Link slowest = no_limit;
  std::vector<int> nodes;
  nodes.reserve(group.size());
  for (const DeviceId device : group) nodes.push_back(node_of(device));
  std::sort(nodes.begin(), nodes.end());
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    if (nodes[i] == nodes[i - 1]) pass(slowest, group_of_node(nodes[i]).link);
  }
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  if (nodes.size() < 2) return slowest;
  // The uplink of a subtree lies on the path of some pair when the group has members in and outside
  // of it.
  std::vector<std::size_t> nodes_below(switches.size(), 0);
  for (const int node : nodes) {
    const int index = group_of_node_index(node);
    pass(slowest, groups[index].uplink);
    for (int s = switch_index_[index]; s >= 0; s = switch_parent_[s]) ++nodes_below[s];
  }
  for (std::size_t s = 0; s < switches.size(); ++s) {
    if (nodes_below[s] > 0 && nodes_below[s] < nodes.size()) pass(slowest, switches[s].uplink);
  }
  return slowest;
}

}  // namespace pptrain
