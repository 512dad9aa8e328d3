#pragma once

#include <cstddef>
#include <vector>

#include "cluster/cluster.hpp"

namespace pptrain {

/// Elements of the buckets in which gradients are summed.
inline constexpr std::size_t gradient_bucket_elements = std::size_t{1} << 20;

/// All-reduce in two levels: reduce-scatter among the members on each node, all-reduce of every
/// part between the nodes, all-gather on each node. The parts share a node's uplink, so that with k
/// nodes 2(k-1)/k * bytes pass it. On one node it is the flat ring. The closed forms never use it
/// (docs/cost.md).
struct TwoLevelSum {
  double within = 0.0;  ///< reduce-scatter and all-gather on the slowest node
  double across = 0.0;  ///< all-reduce of all slices between the nodes
  int nodes = 1;

  /// Seconds of an array in so many buckets, each of which is within while another is across; 1:
  /// level after level.
  double seconds(double buckets) const;
};
/// The levels of a sum of `bytes` over the group.
TwoLevelSum two_level_sum(const Cluster& cluster, const std::vector<DeviceId>& group, double bytes);

}  // namespace pptrain
