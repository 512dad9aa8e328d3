#pragma once

#include <string>
#include <vector>

#include "cost/replica_sum.hpp"
#include "cost/stage_time.hpp"
#include "planners/meshes/grid.hpp"

namespace pptrain {

/// What the cost of a stage depends on beside its layers and samples: where its devices are.
struct StageLayout {
  std::vector<ReplicaGroup> replicas;  ///< distinct ones; `samples` is not set
  std::vector<ReplicaSum> sums;        ///< between the replicas of each shard, distinct ones
  double sharers = 1.0;                ///< the fewest replicas that divide what ZeRO divides
  std::vector<Link> next_links;        ///< to the next stage, distinct ones
  double memory = 0.0;                 ///< of the smallest device
  bool operator==(const StageLayout& other) const;
};

/// A uniform grid on the devices of a cluster. Stages that cost the same are one kind.
struct GridLayout {
  Grid grid;
  std::vector<StageLayout> kinds;  ///< distinct ones
  std::vector<int> stage_kinds;    ///< index into `kinds` of each stage
  /// Layout of stage i, from 0.
  const StageLayout& stage(int i) const { return kinds[stage_kinds[i]]; }
};

/// The placement of a uniform grid: shard k of replica j of stage i on device (i * dp + j) * tmp +
/// k. Takes time in proportion to stages, node groups and devices of a node, not to the devices,
/// unless ZeRO divides by node.
GridLayout place(const Cluster& cluster, const Grid& grid,
                 ZeroGroup zero_group = ZeroGroup::replicas);

/// Devices of a stage: a row per replica, a column per tensor-parallel member.
using DeviceRows = std::vector<std::vector<DeviceId>>;

/// Any placement: a mesh of dp x tmp devices per stage.
GridLayout place(const Cluster& cluster, const Grid& grid, const std::vector<DeviceRows>& meshes,
                 ZeroGroup zero_group = ZeroGroup::replicas);

}  // namespace pptrain
