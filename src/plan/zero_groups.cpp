#include "plan/zero_groups.hpp"

#include <algorithm>

namespace pptrain {
namespace {

bool in_one_node(const Cluster& cluster, const std::vector<DeviceId>& a,
                 const std::vector<DeviceId>& b) {
  for (std::size_t shard = 0; shard < a.size(); ++shard) {
    if (cluster.node_of(a[shard]) != cluster.node_of(b[shard])) return false;
  }
  return true;
}

}  // namespace

std::vector<Interval> node_groups(const Cluster& cluster, const Stage& stage) {
  std::vector<Interval> groups;
  for (int replica = 0; replica < stage.replicas; ++replica) {
    if (replica > 0 && in_one_node(cluster, stage.devices[replica - 1], stage.devices[replica])) {
      groups.back().end = replica + 1;
    } else {
      groups.push_back({replica, replica + 1});
    }
  }
  return groups;
}

bool has_node_groups(const Cluster& cluster, const Stage& stage) {
  const std::vector<Interval> nodes = node_groups(cluster, stage);
  const auto equal = [&nodes](const Interval& node) { return node.size() == nodes.front().size(); };
  return nodes.size() > 1 && nodes.front().size() > 1 &&
         std::all_of(nodes.begin(), nodes.end(), equal);
}

ZeroGroup zero_group_of(const Stage& stage) {
  return stage.zero_groups.empty() ? ZeroGroup::replicas : ZeroGroup::node;
}

void divide_state(Stage& stage, int zero_stage, ZeroGroup group, const Cluster& cluster) {
  stage.zero_stage = zero_stage;
  stage.zero_groups.clear();
  stage.zero_slices.clear();
  if (zero_stage == 0 || group == ZeroGroup::replicas || !stage.blocks.empty()) return;
  stage.zero_groups = node_groups(cluster, stage);
  if (stage.zero_groups.size() == 1) stage.zero_groups.clear();
}

}  // namespace pptrain
