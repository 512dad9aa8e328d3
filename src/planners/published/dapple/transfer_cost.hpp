#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "planners/meshes/placement.hpp"

namespace pptrain {

/// Links between nodes by the groups they belong to, each looked up once.
class GroupLinks {
 public:
  explicit GroupLinks(const Cluster& cluster);

  const Cluster& cluster() const { return cluster_; }  ///< the cluster given to the constructor
  /// Index into the groups of the cluster; nodes are numbered over all groups, in their order.
  int group_of_node(int node) const;
  /// Between two devices of one node.
  const Link& inside(int group) const { return inside_[group]; }
  /// Between devices of two nodes of these groups.
  const Link& between(int group, int other);

 private:
  const Cluster& cluster_;
  std::vector<int> first_node_;  // of each group
  std::vector<int> first_device_;
  std::vector<Link> inside_;
  std::map<std::pair<int, int>, Link> between_;
};

/// What a communication stage of DAPPLE carries at once: samples over a link, for each kind of link
/// the most. It goes from a stage to the next, both with one device per replica and the
/// micro-batch's samples divided evenly.
class TransferLoads {
 public:
  TransferLoads(GroupLinks& links, const std::vector<TakenDevices>& sender,
                const std::vector<TakenDevices>& receiver, std::int64_t micro_batch);

  /// F, and B too: the larger of the slowest pair of devices and the slowest node's uplink.
  double seconds(double bytes_per_sample) const;
  auto operator<=>(const TransferLoads&) const = default;

 private:
  struct Load {
    double bandwidth = 0.0;
    double latency = 0.0;
    double samples = 0.0;
    auto operator<=>(const Load&) const = default;
  };
  void add(double samples, const Link& link);

  std::vector<Load> loads_;  // ascending
};

}  // namespace pptrain
