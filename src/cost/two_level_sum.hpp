#pragma once

#include <cstddef>
#include <vector>

#include "cluster/cluster.hpp"

namespace pptrain {

/// Elements of the buckets in which gradients are summed.
inline constexpr std::size_t gradient_bucket_elements = std::size_t{1} << 20;

/// The levels of `hierarchical_all_reduce_seconds`.
struct TwoLevelSum {
  double within = 0.0;  ///< reduce-scatter and all-gather on the slowest node
  double across = 0.0;  ///< all-reduce of all slices between the nodes

  /// Seconds of an array in so many buckets, each of which is within while another is across.
  double seconds(double buckets) const;
};
TwoLevelSum two_level_sum(const Cluster& cluster, const std::vector<DeviceId>& group, double bytes);

}  // namespace pptrain
