#include "simulate/runtime_rings.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "profile/ring.hpp"

namespace pptrain {
namespace {

/// Part of the links of a device that lead to the others of a group within a node.
double reached_neighbours(const Instance& instance, const std::vector<int>& kinds, int members) {
  double part = 1.0;
  for (const int kind : kinds) {
    const std::string& name = instance.cluster.device_kinds[static_cast<std::size_t>(kind)].name;
    part = std::min(part, reached_links(instance.profile.communication, name, members));
  }
  return part;
}

/// The slowest link of a group that spans nodes, on each of which every other device is in a group
/// of its own.
Link shared_link(const Instance& instance, const std::vector<DeviceId>& devices,
                 const std::map<int, int>& members_by_node) {
  const Communication& communication = instance.profile.communication;
  Link link = instance.cluster.slowest_link(devices);
  link.bandwidth *= communication.uplink_share;
  for (const auto& [node, members] : members_by_node) {
    const NodeGroup& group = instance.cluster.group_of_node(node);
    if (members > 1)
      link.bandwidth = std::min(link.bandwidth, communication.link_share * group.link.bandwidth);
    if (!communication.shares_uplinks || group.uplink.bandwidth <= 0.0) continue;
    const double groups = std::max(1.0, static_cast<double>(group.num_devices) / members);
    link.bandwidth =
        std::min(link.bandwidth, communication.uplink_share * group.uplink.bandwidth / groups);
  }
  return link;
}

}  // namespace

RuntimeRing::RuntimeRing(const Instance& instance, const std::vector<DeviceId>& devices)
    : communication_(&instance.profile.communication), members_(static_cast<int>(devices.size())) {
  if (members_ == 1) return;
  std::map<int, int> members_by_node;
  std::vector<int> kinds;
  for (const DeviceId device : devices) {
    ++members_by_node[instance.cluster.node_of(device)];
    const int kind = instance.cluster.kind_index_of(device);
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  }
  if (members_by_node.size() > 1) {
    link_ = shared_link(instance, devices, members_by_node);
    const auto nodes = static_cast<double>(members_by_node.size());
    double within = 0.0;
    for (const auto& [node, members] : members_by_node) {
      within += (members - 1) * instance.cluster.group_of_node(node).link.latency;
    }
    hop_ = (within + nodes * link_.latency) / members_;
    return;
  }
  *this = RuntimeRing(instance, instance.cluster.slowest_link(devices), members_, kinds);
}

RuntimeRing::RuntimeRing(const Instance& instance, const Link& slowest, int members,
                         const std::vector<int>& kinds)
    : communication_(&instance.profile.communication), link_(slowest), members_(members) {
  link_.bandwidth *= communication_->link_share * reached_neighbours(instance, kinds, members);
  hop_ = link_.latency;
}

/// Half of what an all-reduce sends, at the rate that so many bytes reach.
double RuntimeRing::moving(double bytes) const {
  return moving_seconds(*communication_, members_, bytes, link_.bandwidth);
}

double RuntimeRing::all_reduce_seconds(double bytes) const {
  if (members_ == 1 || bytes == 0.0) return 0.0;
  // NCCL takes a tree where latency counts: the logarithm of the members in steps.
  const double steps = std::min(members_ - 1.0, std::log2(members_));
  return 2.0 * moving(bytes) + 2.0 * steps * hop_ + communication_->start_seconds;
}

double RuntimeRing::gather_seconds(double bytes) const {
  if (members_ == 1 || bytes == 0.0) return 0.0;
  // There are rings alone for these: a slice passes all members.
  return ring_gather_seconds(*communication_, members_, bytes, link_.bandwidth, hop_);
}

double seconds_left(const Communication& communication, double seconds, double backward,
                    int layers) {
  if (communication.is_own() || !communication.hides_sums || layers == 0) return seconds;
  const double first = seconds / layers;
  const double left = std::max(first, seconds - (1.0 - 1.0 / layers) * backward);
  return left + communication.beside * (seconds - left);
}

}  // namespace pptrain
