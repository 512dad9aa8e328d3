#include "cost/replica_sum.hpp"

#include <algorithm>

#include "cost/collective.hpp"
#include "cost/stage_time.hpp"

namespace pptrain {

double ReplicaSum::Ring::seconds(double bytes) const {
  return all_reduce_seconds(slowest, members, share * bytes);
}

bool ReplicaSum::Ring::operator==(const Ring& other) const {
  return members == other.members && share == other.share &&
         slowest.bandwidth == other.slowest.bandwidth && slowest.latency == other.slowest.latency;
}

ReplicaSum::ReplicaSum(const Cluster& cluster, const Stage& mesh, int shard) {
  std::vector<DeviceId> leaders;
  for (const Interval& group : mesh.sharding_groups()) {
    const std::vector<DeviceId> devices = shard_group(mesh, shard, group);
    leaders.push_back(devices.front());
    const Ring ring = {static_cast<int>(devices.size()), cluster.slowest_link(devices),
                       mesh.largest_slice()};
    if (std::find(within_.begin(), within_.end(), ring) == within_.end()) within_.push_back(ring);
  }
  if (leaders.size() == 1) return;
  across_ = {static_cast<int>(leaders.size()), cluster.slowest_link(leaders)};
  const int node = cluster.node_of(leaders.front());
  const bool same_node = std::all_of(leaders.begin(), leaders.end(), [&](DeviceId device) {
    return cluster.node_of(device) == node;
  });
  if (same_node)
    across_.share = 1.0 / least_sharers(mesh);  // then every slice has links of its own
}

double ReplicaSum::within_seconds(double bytes) const {
  double slowest = 0.0;
  for (const Ring& ring : within_) slowest = std::max(slowest, ring.seconds(bytes));
  return slowest;
}

std::vector<ReplicaSum> replica_sums(const Cluster& cluster, const Stage& mesh) {
  std::vector<ReplicaSum> sums;
  for (int shard = 0; shard < mesh.tensor_parallel; ++shard)
    sums.emplace_back(cluster, mesh, shard);
  return sums;
}

double least_sharers(const Stage& mesh) {
  if (!mesh.zero_slices.empty()) return mesh.replicas / mesh.largest_slice();
  std::int64_t least = mesh.replicas;
  for (const Interval& group : mesh.zero_groups) least = std::min(least, group.size());
  return static_cast<double>(least);
}

}  // namespace pptrain
