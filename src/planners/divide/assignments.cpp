#include "planners/divide/assignments.hpp"

#include <algorithm>
#include <numeric>

namespace pptrain {
AllAssignments::AllAssignments(const SearchSpace& space) : space_(space), degrees_(space.instance) {
  const Cluster& cluster = space.instance.cluster;
  for (int node = 0; node < cluster.num_nodes(); ++node)
    nodes_.push_back(cluster.devices_of_node(node));
  state_of(Used(nodes_.size(), 0));
  for (int state = 0; state < static_cast<int>(states_.size()); ++state) {  // more are added on the
                                                                            // way
    moves_.emplace_back();
    add_moves(state);
  }
}

int AllAssignments::state_of(const Used& used) {
  const auto [place, is_new] = state_index_.emplace(used, static_cast<int>(states_.size()));
  if (is_new) {
    states_.push_back(used);
    num_left_.push_back(space_.instance.cluster.num_devices() -
                        std::accumulate(used.begin(), used.end(), 0));
  }
  return place->second;
}

void AllAssignments::add_moves(int state) {
  const Used before = states_[state];
  Used used = before;
  std::vector<DeviceId> devices;
  fill(state, before, used, devices);
}

/// Appends one device after another; every sequence is a row-major mesh of each degree that divides
/// it.
void AllAssignments::fill(int state, const Used& before, Used& used,
                          std::vector<DeviceId>& devices) {
  if (!devices.empty()) add_meshes(state, used, devices);
  for (int node = 0; node < static_cast<int>(nodes_.size()); ++node) {
    if (used[node] == static_cast<int>(nodes_[node].size()) || !is_first_of_equals(used, node))
      continue;
    devices.push_back(nodes_[node][used[node]++]);
    fill(state, before, used, devices);
    devices.pop_back();
    --used[node];
  }
}

bool AllAssignments::is_first_of_equals(const Used& used, int node) const {
  const Cluster& cluster = space_.instance.cluster;
  if (used[node] > 0) return true;
  const int group = cluster.group_of(nodes_[node].front());
  for (int other = 0; other < node; ++other) {
    if (used[other] == 0 && cluster.group_of(nodes_[other].front()) == group) return false;
  }
  return true;
}

void AllAssignments::add_meshes(int state, const Used& used, const std::vector<DeviceId>& devices) {
  const int num_devices = static_cast<int>(devices.size());
  for (int n = 1; n <= num_devices; ++n) {
    const auto has_rows = [&](DeviceId d) {
      return degrees_.has(space_.instance.cluster.kind_index_of(d), n);
    };
    if (num_devices % n != 0 || !std::all_of(devices.begin(), devices.end(), has_rows)) continue;
    const auto [place, is_new] = mesh_index_.try_emplace({n, devices}, num_meshes());
    if (is_new) meshes_.push_back(std::make_unique<StageMesh>(space_.instance.cluster, n, devices));
    const int after = state_of(used);
    moves_[state].push_back({place->second, after});
  }
}

}  // namespace pptrain
