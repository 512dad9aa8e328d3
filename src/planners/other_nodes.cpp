#include "planners/other_nodes.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "cost/stage_time.hpp"
#include "planners/search.hpp"

namespace pptrain {
namespace {

constexpr std::size_t most_parts = 8;

/// The groups of nodes, those with the fastest devices first.
std::vector<int> fastest_first(const Instance& instance) {
  std::vector<int> groups(instance.cluster.groups.size());
  std::iota(groups.begin(), groups.end(), 0);
  std::vector<double> seconds;
  for (const int group : groups) seconds.push_back(sample_seconds(instance, group));
  std::stable_sort(groups.begin(), groups.end(),
                   [&seconds](int a, int b) { return seconds[a] < seconds[b]; });
  return groups;
}

/// The numbers of nodes of each group, times a number.
std::vector<int> multiplied(const Cluster& cluster, int times) {
  std::vector<int> nodes;
  for (const NodeGroup& group : cluster.groups) nodes.push_back(times * group.count);
  return nodes;
}

bool can_be_multiplied(const Cluster& cluster) {
  return std::all_of(cluster.groups.begin(), cluster.groups.end(), [](const NodeGroup& group) {
    return group.hosts.empty() && group.core_pool.empty() && !group.shares_cores() &&
           group.uplink.bandwidth > 0.0;
  });
}

/// The job of an instance on another cluster.
Instance moved_to(const Cluster& cluster, const Instance& instance) {
  return {instance.profile, cluster, instance.global_batch_size, instance.ties};
}

OnFewerNodes on_part(const std::string& planner, const Instance& instance,
                     const Restrictions& restrictions, const std::vector<int>& nodes, Stop stop,
                     SearchProgress* progress) {
  const Cluster cluster = with_nodes(instance.cluster, nodes);
  OnFewerNodes found = {nodes, cluster.num_nodes(), cluster.num_devices(), {}, {}};
  try {
    const Instance part = moved_to(cluster, instance);
    const SearchResult result =
        search_plan(planner, part, restrictions, "fewer nodes", stop, progress);
    if (result.plan) found.iteration_seconds = result.plan->predicted->iteration_seconds;
    found.why_not = result.plan ? "" : result.why_not;
  } catch (const Error& error) {
    found.why_not = error.what();  // degrees of the configuration that so few devices cannot have
  }
  return found;
}

}  // namespace

double sample_seconds(const Instance& instance, int group) {
  const int kind = instance.cluster.kind_index_of_group(group);
  double sum = 0.0;
  for (int layer = 0; layer < instance.profile.num_layers(); ++layer) {
    sum += device_seconds(instance, kind, layer, 1, 1.0).total();
  }
  return sum;
}

Cluster with_nodes(const Cluster& cluster, const std::vector<int>& nodes) {
  Cluster other = cluster;
  other.groups.clear();
  for (std::size_t g = 0; g < nodes.size(); ++g) {
    if (nodes[g] == 0) continue;
    NodeGroup group = cluster.groups[g];
    group.count = nodes[g];
    if (group.hosts.size() > static_cast<std::size_t>(group.count)) group.hosts.resize(group.count);
    other.groups.push_back(group);
  }
  other.finish(cluster.name);
  return other;
}

std::optional<MoreNodes> nodes_that_suffice(const std::string& planner, const Instance& instance,
                                            const Restrictions& restrictions,
                                            const std::string& source, const Stop& stop) {
  constexpr int most = 16;
  if (!can_be_multiplied(instance.cluster)) return std::nullopt;
  Restrictions quick = restrictions;
  quick.effort = Effort::quick;
  for (int times = 2; times <= most && !stop.requested(); times *= 2) {
    const Cluster cluster = with_nodes(instance.cluster, multiplied(instance.cluster, times));
    try {
      SearchResult found = search_plan(planner, moved_to(cluster, instance), quick, source,
                                       stop.within(stop.seconds_left() / 2.0));
      if (found.plan) return MoreNodes{times, cluster.num_nodes(), *std::move(found.plan)};
    } catch (const Error&) {
      return std::nullopt;  // degrees that are fixed do not go with so many devices
    }
  }
  return std::nullopt;
}

std::vector<std::vector<int>> growing_parts(const Instance& instance, std::size_t most) {
  return growing_parts(instance.cluster, fastest_first(instance), most);
}

std::vector<std::vector<int>> growing_parts(const Cluster& cluster, const std::vector<int>& groups,
                                            std::size_t most) {
  const int all = cluster.num_nodes();
  std::vector<std::vector<int>> parts;
  std::vector<int> nodes(cluster.groups.size(), 0);
  int wanted = 1;
  int taken = 0;
  for (const int group : groups) {
    const int count = cluster.groups[static_cast<std::size_t>(group)].count;
    for (int i = 1; i <= count; ++i) {
      ++nodes[static_cast<std::size_t>(group)];
      ++taken;
      if (taken < wanted && i < count) continue;
      parts.push_back(nodes);
      wanted = static_cast<std::size_t>(all) <= most ? taken + 1 : std::max(2 * taken, wanted);
    }
  }
  return parts;
}

std::vector<OnFewerNodes> plans_on_fewer_nodes(const std::string& planner, const Instance& instance,
                                               const Restrictions& restrictions,
                                               double whole_seconds, Stop stop,
                                               SearchProgress* progress) {
  std::vector<OnFewerNodes> found;
  std::optional<double> least;
  for (const std::vector<int>& nodes : growing_parts(instance, most_parts)) {
    const bool whole =
        std::accumulate(nodes.begin(), nodes.end(), 0) == instance.cluster.num_nodes();
    if (!whole && stop.requested()) continue;
    found.push_back(whole ? OnFewerNodes{nodes,
                                         instance.cluster.num_nodes(),
                                         instance.cluster.num_devices(),
                                         whole_seconds,
                                         {}}
                          : on_part(planner, instance, restrictions, nodes, stop, progress));
    std::optional<double>& seconds = found.back().iteration_seconds;
    if (!whole && least && (!seconds || *least < *seconds)) seconds = least;
    if (seconds) least = std::min(least.value_or(*seconds), *seconds);
  }
  return found;
}

}  // namespace pptrain
