#pragma once

#include <vector>

#include "planners/ask/planner.hpp"
#include "planners/meshes/placement_graph.hpp"

namespace pptrain {

/// Sets of placements to search together, all of them.
using PlacementRuleSets = std::vector<PlacementRules>;

/// The placements of DAPPLE's space that the restrictions allow, then ever fewer of them for
/// clusters on which they are too many. In this order, stages may have
/// - any number of replicas, on any nodes,
/// - any number of replicas, with two nodes at most that are used in part when the next stage is
/// placed,
/// - as many as divide the devices, fill whole nodes, or are a power of two; two such nodes,
/// - any number of replicas; one such node,
/// - as many as divide the devices, fill whole nodes, or are a power of two; one such node,
/// - as many as divide the devices or are a power of two; one such node,
/// - a power of two of whole nodes, of the largest clusters of a power of two of nodes.
/// The last stage may have all devices that are left.
std::vector<PlacementRuleSets> dapple_rules(const SearchSpace& space);

}  // namespace pptrain
