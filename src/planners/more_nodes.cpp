#include "planners/more_nodes.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "planners/search.hpp"

namespace pptrain {
namespace {

bool can_be_multiplied(const Cluster& cluster) {
  return std::all_of(cluster.groups.begin(), cluster.groups.end(), [](const NodeGroup& group) {
    return group.hosts.empty() && group.core_pool.empty() && !group.shares_cores() && group.uplink.bandwidth > 0.0;
  });
}

Cluster multiplied(Cluster cluster, int times) {
  for (NodeGroup& group : cluster.groups) group.count *= times;
  cluster.finish("the cluster with more nodes");
  return cluster;
}

}  // namespace

std::optional<MoreNodes> nodes_that_suffice(const std::string& planner, const Instance& instance,
                                            const Restrictions& restrictions, const std::string& source,
                                            const Stop& stop) {
  constexpr int most = 16;
  if (!can_be_multiplied(instance.cluster)) return std::nullopt;
  Restrictions quick = restrictions;
  quick.effort = Effort::quick;
  for (int times = 2; times <= most && !stop.requested(); times *= 2) {
    const Cluster cluster = multiplied(instance.cluster, times);
    const Instance larger = {instance.profile, cluster, instance.global_batch_size, instance.ties};
    try {
      SearchResult found = search_plan(planner, larger, quick, source, stop.within(stop.seconds_left() / 2.0));
      if (found.plan) return MoreNodes{times, cluster.num_nodes(), *std::move(found.plan)};
    } catch (const Error&) {
      return std::nullopt;  // degrees that are fixed do not go with so many devices
    }
  }
  return std::nullopt;
}

}  // namespace pptrain
