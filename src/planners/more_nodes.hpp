#pragma once

#include <optional>
#include <string>

#include "base/stop.hpp"
#include "planners/ask/planner.hpp"

namespace pptrain {

/// A cluster on which a plan was found.
struct MoreNodes {
  int times = 1;  ///< as many nodes of every group as before
  int nodes = 0;  ///< in all
  Plan plan;
};

/// The least power of two (up to 16) of the nodes of every group with which the planner finds a plan that fits, of an
/// instance that no plan fits, and that plan. Nothing where there is none, where the stop comes before that is known,
/// and for clusters of named hosts, of nodes that share cores, and of nodes without an uplink, which nobody has twice.
/// Arguments are those of `search_plan`.
std::optional<MoreNodes> nodes_that_suffice(const std::string& planner, const Instance& instance,
                                            const Restrictions& restrictions, const std::string& source,
                                            const Stop& stop);

}  // namespace pptrain
