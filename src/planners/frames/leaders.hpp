#pragma once

#include <vector>

#include "cluster/cluster.hpp"
#include "planners/frames/frame_trials.hpp"

namespace pptrain {

/// Puts the fastest plans first, and leaves those that take equally long in their order.
void sort_leaders(std::vector<TriedPlan>& leaders);

/// Drops leaders whose plan is that of one before them.
void drop_equal_leaders(std::vector<TriedPlan>& leaders);

/// Drops leaders that take the same time as one before them and differ from it only in their ZeRO
/// stages, to which steps lead, or in which devices of a node group are whose: improved, they would
/// become the same plans.
void drop_leaders_alike(std::vector<TriedPlan>& leaders, const Cluster& cluster);

}  // namespace pptrain
