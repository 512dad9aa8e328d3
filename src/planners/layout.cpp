#include "planners/layout.hpp"

#include <algorithm>
#include <limits>

namespace pptrain {
namespace {

void add_distinct(std::vector<Link>& links, const Link& link) {
  const bool known = std::any_of(links.begin(), links.end(), [&link](const Link& l) {
    return l.bandwidth == link.bandwidth && l.latency == link.latency;
  });
  if (!known) links.push_back(link);
}

StageLayout place_stage(const Cluster& cluster, const Stage& stage, const Stage* next) {
  StageLayout layout;
  layout.replicas = replica_groups(cluster, stage);
  layout.memory = std::numeric_limits<double>::infinity();
  for (const auto& row : stage.devices) {
    for (const DeviceId device : row) layout.memory = std::min(layout.memory, cluster.kind_of(device).memory);
  }
  for (int k = 0; k < stage.tensor_parallel; ++k) {
    add_distinct(layout.gradient_links, cluster.slowest_link(shard_group(stage, k)));
  }
  if (next != nullptr) {
    for_each_pair(stage, *next,
                  [&](DeviceId a, DeviceId b, double) { add_distinct(layout.next_links, cluster.path(a, b)); });
  }
  return layout;
}

}  // namespace

GridLayout place(const Cluster& cluster, const Grid& grid) {
  std::vector<Interval> layers;
  for (int i = 0; i < grid.pipeline; ++i) layers.push_back({i, i + 1});
  const Plan plan = uniform_plan(layers, grid.data, grid.tensor, grid.data, grid.data, "1f1b");
  GridLayout layout = {grid, {}};
  for (int i = 0; i < grid.pipeline; ++i) {
    const Stage* next = i + 1 < grid.pipeline ? &plan.stages[i + 1] : nullptr;
    layout.stages.push_back(place_stage(cluster, plan.stages[i], next));
  }
  return layout;
}

}  // namespace pptrain
