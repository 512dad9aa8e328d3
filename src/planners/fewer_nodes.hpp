#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planners/ask/planner.hpp"

namespace pptrain {

/// What a job takes on a part of a cluster.
struct OnFewerNodes {
  std::vector<int> nodes;                   ///< how many of each node group of the cluster
  int num_nodes = 0;                        ///< all of them together
  int num_devices = 0;                      ///< all devices of these nodes
  std::optional<double> iteration_seconds;  ///< nothing where no plan was found
  std::string why_not;                      ///< then: what does not fit
};

/// Numbers of nodes of each group to look at, from one node to all of them, at most `most` and a few more: the nodes
/// with the fastest devices come first, by the time of all layers for one sample; every group is once complete.
std::vector<std::vector<int>> growing_parts(const Instance& instance, std::size_t most);

/// What the planner called `planner` finds for growing parts of the instance's cluster. A plan for some nodes is one
/// for more of them too, so no part takes longer than those before it. The last entry is the whole cluster, which takes
/// the `whole_seconds` that are known. `stop` ends it with the parts looked at so far and that entry.
std::vector<OnFewerNodes> plans_on_fewer_nodes(const std::string& planner, const Instance& instance,
                                               const Restrictions& restrictions, double whole_seconds, Stop stop,
                                               SearchProgress* progress = nullptr);

}  // namespace pptrain
