#pragma once

#include <string>
#include <vector>

#include "cost/stage_time.hpp"
#include "planners/grid.hpp"

namespace pptrain {

/// What the cost of a stage depends on beside its layers and samples: where its devices are.
struct StageLayout {
  std::vector<ReplicaGroup> replicas;  ///< distinct ones; `samples` is not set
  std::vector<Link> gradient_links;    ///< slowest link of each shard group, distinct ones
  std::vector<Link> next_links;        ///< to the next stage, distinct ones
  double memory = 0.0;                 ///< of the smallest device
};

/// A uniform grid placed on the cluster as COST.md says: shard k of replica j of stage i on device
/// (i * dp + j) * tmp + k.
struct GridLayout {
  Grid grid;
  std::vector<StageLayout> stages;
};

GridLayout place(const Cluster& cluster, const Grid& grid);

}  // namespace pptrain
