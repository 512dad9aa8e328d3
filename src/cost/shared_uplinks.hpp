#pragma once

#include <map>
#include <utility>
#include <vector>

#include "cluster/cluster.hpp"
#include "plan/plan.hpp"

namespace pptrain {

/// Uplinks that rings of devices pass at the same time, all of which send as much, in equal shares.
/// The closed forms never use it (docs/cost.md).
class UplinkShares {
 public:
  explicit UplinkShares(const Cluster& cluster) : cluster_(&cluster) {}

  /// Adds a ring of devices, which has an equal share of each uplink on its way with the others
  /// there.
  void add(const std::vector<DeviceId>& ring);
  /// The ring over these replicas of each shard of a mesh.
  void add(const Mesh& mesh, const Interval& replicas);

  /// Bandwidth that the uplinks on its way leave a ring, all of which have been added; infinite
  /// where it passes none.
  double bandwidth(const std::vector<DeviceId>& ring) const;
  /// The least of the rings over these replicas of each shard of a mesh.
  double bandwidth(const Mesh& mesh, const Interval& replicas) const;

 private:
  const Cluster* cluster_;
  std::map<std::pair<int, Uplink::Direction>, int> rings_;  // by uplink
};

/// The least bandwidth that uplinks leave one of these rings, where no others are on their way.
double shared_uplink_bandwidth(const Cluster& cluster,
                               const std::vector<std::vector<DeviceId>>& rings);

}  // namespace pptrain
