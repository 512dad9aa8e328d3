#include "cost/shared_uplinks.hpp"

#include <algorithm>

#include "base/infinity.hpp"
#include "cost/stage_time.hpp"

namespace pptrain {
void UplinkShares::add(const std::vector<DeviceId>& ring) {
  for (const Uplink& uplink : cluster_->ring_uplinks(ring))
    ++rings_[{uplink.owner, uplink.direction}];
}

void UplinkShares::add(const Mesh& mesh, const Interval& replicas) {
  for (int shard = 0; shard < mesh.tensor_parallel; ++shard)
    add(shard_group(mesh, shard, replicas));
}

double UplinkShares::bandwidth(const std::vector<DeviceId>& ring) const {
  double least = infinity;
  for (const Uplink& uplink : cluster_->ring_uplinks(ring)) {
    const auto added = rings_.find({uplink.owner, uplink.direction});
    least = std::min(least, uplink.link.bandwidth / (added == rings_.end() ? 1 : added->second));
  }
  return least;
}

double UplinkShares::bandwidth(const Mesh& mesh, const Interval& replicas) const {
  double least = infinity;
  for (int shard = 0; shard < mesh.tensor_parallel; ++shard) {
    least = std::min(least, bandwidth(shard_group(mesh, shard, replicas)));
  }
  return least;
}

double shared_uplink_bandwidth(const Cluster& cluster,
                               const std::vector<std::vector<DeviceId>>& rings) {
  UplinkShares shares(cluster);
  for (const std::vector<DeviceId>& ring : rings) shares.add(ring);
  double least = infinity;
  for (const std::vector<DeviceId>& ring : rings) least = std::min(least, shares.bandwidth(ring));
  return least;
}

}  // namespace pptrain
