#pragma once

#include <vector>

#include "cluster/cluster.hpp"
#include "plan/plan.hpp"

namespace pptrain {

/// Bandwidth that uplinks leave each of these rings, all of which send as much at the same time: the least on the way
/// of any; infinite where none passes an uplink. The closed forms never use it (docs/cost.md).
double shared_uplink_bandwidth(const Cluster& cluster, const std::vector<std::vector<DeviceId>>& rings);

/// The same for the rings over these replicas of a mesh, of which each shard has one.
double shared_uplink_bandwidth(const Cluster& cluster, const Stage& mesh, const std::vector<int>& replicas);

}  // namespace pptrain
