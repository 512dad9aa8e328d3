#pragma once

#include "cluster/cluster.hpp"
#include "plan/plan.hpp"

namespace pptrain {

/// Neighbouring replicas that lie in one node, shard by shard, as the groups that divide what ZeRO
/// divides; each node then holds all of it (Rajbhandari et al., 2020, divide over all replicas;
/// Tang et al., 2024, within a node).
std::vector<Interval> node_groups(const Cluster& cluster, const Stage& stage);

/// Whether the replicas of each node may divide the state of a stage among themselves: it is on
/// several nodes, with as many replicas on each, and more than one.
bool has_node_groups(const Cluster& cluster, const Stage& stage);

/// Who divides the state of a stage that has its groups.
ZeroGroup zero_group_of(const Stage& stage);

/// Gives a stage with devices its ZeRO stage, with equal slices, and the groups for it; none where
/// all replicas are one group, or where blocks have replicas of their own.
void divide_state(Stage& stage, int zero_stage, ZeroGroup group, const Cluster& cluster);

}  // namespace pptrain
