#include "planners/published/whale/task_graphs.hpp"

#include <algorithm>

#include "planners/meshes/grid.hpp"

namespace pptrain {

std::vector<int> TaskGraphs::devices() const {
  std::vector<int> devices;
  for (const TaskGraph& graph : graphs) devices.push_back(graph.devices);
  return devices;
}

int TaskGraphs::most_replicas() const {
  int most = 0;
  for (int i = 0; i < static_cast<int>(graphs.size()); ++i) most = std::max(most, replicas(i));
  return most;
}

std::vector<TaskGraphs> equal_task_graphs(const SearchSpace& space) {
  const Instance& instance = space.instance;
  std::vector<TaskGraphs> all;
  for (const Grid& grid : grids_of(instance.cluster.num_devices(), space.restrictions)) {
    if (grid.pipeline > instance.profile.num_layers()) continue;
    const auto& groups = instance.cluster.groups;
    const bool known = std::all_of(groups.begin(), groups.end(), [&](const NodeGroup& group) {
      return instance.profile.has_degree(group.device_kind, grid.tensor);
    });
    if (!known) continue;
    TaskGraph graph;
    graph.devices = graph.tensor_parallel = grid.tensor;
    all.push_back({std::vector<TaskGraph>(grid.pipeline, graph), grid.data});
  }
  return all;
}

}  // namespace pptrain
