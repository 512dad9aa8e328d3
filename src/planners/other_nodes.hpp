#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/stop.hpp"
#include "planners/ask/planner.hpp"

namespace pptrain {

/// A cluster on which a plan was found.
struct MoreNodes {
  int times = 1;  ///< as many nodes of every group as before
  int nodes = 0;  ///< in all
  Plan plan;
};

/// The least power of two (up to 16) of the nodes of every group with which the planner finds a
/// plan that fits, of an instance that no plan fits, and that plan. Nothing where there is none,
/// where the stop comes before that is known, and for clusters of named hosts, of nodes that share
/// cores, and of nodes without an uplink, which nobody has twice. Arguments are those of
/// `search_plan`.
std::optional<MoreNodes> nodes_that_suffice(const std::string& planner, const Instance& instance,
                                            const Restrictions& restrictions,
                                            const std::string& source, const Stop& stop);

/// The cluster with other numbers of nodes of each group: of fewer the first ones; a group of 0 is
/// left out.
Cluster with_nodes(const Cluster& cluster, const std::vector<int>& nodes);

/// Seconds of all layers for one sample on a device of a node group.
double sample_seconds(const Instance& instance, int group);

/// What a job takes on a part of a cluster.
struct OnFewerNodes {
  std::vector<int> nodes;                   ///< how many of each node group of the cluster
  int num_nodes = 0;                        ///< all of them together
  int num_devices = 0;                      ///< all devices of these nodes
  std::optional<double> iteration_seconds;  ///< nothing where no plan was found
  std::string why_not;                      ///< what does not fit, where no plan was found
};

/// Numbers of nodes of each group to look at, from one node to all of them, at most `most` and a
/// few more: the nodes with the fastest devices come first, by the time of all layers for one
/// sample; every group is once complete.
std::vector<std::vector<int>> growing_parts(const Instance& instance, std::size_t most);
/// Numbers of nodes to look at where the groups come in the order `groups`.
std::vector<std::vector<int>> growing_parts(const Cluster& cluster, const std::vector<int>& groups,
                                            std::size_t most);

/// What the planner called `planner` finds for growing parts of the instance's cluster. A plan for
/// some nodes is one for more of them too, so no part takes longer than those before it. The last
/// entry is the whole cluster, which takes the `whole_seconds` that are known. `stop` ends it with
/// the parts looked at so far and that entry.
std::vector<OnFewerNodes> plans_on_fewer_nodes(const std::string& planner, const Instance& instance,
                                               const Restrictions& restrictions,
                                               double whole_seconds, Stop stop,
                                               SearchProgress* progress = nullptr);

}  // namespace pptrain
