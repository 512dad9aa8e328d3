#include "planners/meshes/placement_graph.hpp"

#include <algorithm>
#include <numeric>

namespace pptrain {
namespace {

int started_nodes(const DeviceUse& use) {
  int sum = 0;
  for (const DeviceUse::Run& run : use.runs()) {
    if (run.used > 0 && run.free() > 0) sum += run.num_nodes;
  }
  return sum;
}

std::vector<int> used_of_kinds(const Cluster& cluster, const DeviceUse& use) {
  std::vector<int> used(cluster.device_kinds.size(), 0);
  for (const DeviceUse::Run& run : use.runs())
    used[cluster.kind_index_of_group(run.group)] += run.num_nodes * run.used;
  return used;
}

/// Two devices of a node and two nodes of each of `taken` have all links that any two of them have.
Link slowest_link(const Cluster& cluster, const std::vector<TakenDevices>& taken) {
  std::vector<TakenDevices> some = taken;
  for (TakenDevices& devices : some) {
    devices.num_nodes = std::min(devices.num_nodes, 2);
    devices.count = std::min(devices.count, 2);
  }
  return cluster.slowest_link(device_ids(cluster, some));
}

/// Numbers of replicas that the rules allow where `num_left` devices are left.
std::vector<int> allowed_replicas(const PlacementRules& rules, int num_left) {
  std::vector<int> allowed;
  for (const int replicas : rules.replicas) {
    if (replicas <= num_left) allowed.push_back(replicas);
  }
  if (rules.rest && num_left > 0 && (allowed.empty() || allowed.back() != num_left))
    allowed.push_back(num_left);
  return allowed;
}

/// Nodes of which a stage took equally many devices and which have equally many used after it.
struct TakenRun {
  DeviceUse::Run run;
  int taken = 0;  ///< of each node
};

std::vector<TakenRun> taken_runs(const std::vector<TakenDevices>& taken, const DeviceUse& after) {
  std::vector<TakenRun> runs;
  auto some = taken.begin();
  int node = 0;
  for (const DeviceUse::Run& run : after.runs()) {
    for (const int end = node + run.num_nodes; node < end;) {
      TakenRun part = {run, 0};
      int until = end;
      if (some != taken.end() && some->node > node) {
        until = std::min(end, some->node);
      } else if (some != taken.end()) {
        part.taken = some->count;
        until = std::min(end, some->node + some->num_nodes);
        if (until == some->node + some->num_nodes) ++some;
      }
      part.run.num_nodes = until - node;
      runs.push_back(part);
      node = until;
    }
  }
  return runs;
}

}  // namespace

std::optional<PlacementGraph> PlacementGraph::build(const Cluster& cluster,
                                                    const PlacementRules& rules,
                                                    double most_links) {
  PlacementGraph graph(cluster);
  graph.state_index(DeviceUse(cluster));
  for (std::size_t i = 0; i < graph.states_.size(); ++i) {
    graph.states_[i] = graph.placements(rules, DeviceUse(graph.uses_[i]));
    graph.num_links_ += graph.num_entries_[i] * static_cast<double>(graph.states_[i].size());
    if (graph.num_links_ > most_links) return std::nullopt;
  }
  graph.uses_.clear();
  graph.stage_index_.clear();
  graph.state_index_.clear();
  return graph;
}

std::vector<Placement> PlacementGraph::placements(const PlacementRules& rules,
                                                  const DeviceUse& use) {
  std::vector<Placement> result;
  for (const int replicas : allowed_replicas(rules, use.num_free())) {
    const auto first = static_cast<std::ptrdiff_t>(result.size());
    for (const PlacementPolicy policy : rules.policies) {
      DeviceUse after = use;
      std::vector<TakenDevices> taken = after.take(policy, replicas);
      const auto same = [&taken](const Placement& other) { return other.taken == taken; };
      if (std::any_of(result.begin() + first, result.end(), same)) continue;
      if (rules.most_started_nodes > 0 && started_nodes(after) > rules.most_started_nodes) continue;
      const int stage = stage_index(taken, use, after);
      result.push_back({stage, policy, std::move(taken)});
    }
  }
  return result;
}

int PlacementGraph::stage_index(const std::vector<TakenDevices>& taken, const DeviceUse& before,
                                const DeviceUse& after) {
  const auto [place, is_new] =
      stage_index_.try_emplace(key_of(taken, after), static_cast<int>(stages_.size()));
  if (is_new) {
    stages_.push_back({num_devices(taken), after.num_free(), used_of_kinds(*cluster_, before),
                       used_of_kinds(*cluster_, after), taken, slowest_link(*cluster_, taken),
                       state_index(after)});
    num_entries_[stages_.back().state] += 1.0;
    num_links_ += static_cast<double>(states_[stages_.back().state].size());
  }
  return place->second;
}

int PlacementGraph::state_index(const DeviceUse& use) {
  Key key;
  for (const DeviceUse::Run& run : use.runs()) key.insert(key.end(), {run.num_nodes, run.used});
  const auto [place, is_new] =
      state_index_.try_emplace(std::move(key), static_cast<int>(states_.size()));
  if (is_new) {
    states_.emplace_back();
    num_entries_.push_back(0.0);
    uses_.push_back(use);
  }
  return place->second;
}

/// Nodes that the stage has devices on, and those that are used in part; of the others only how
/// many are fresh.
PlacementGraph::Key PlacementGraph::key_of(const std::vector<TakenDevices>& taken,
                                           const DeviceUse& after) {
  Key key = {0};
  for (const TakenRun& part : taken_runs(taken, after)) {
    const DeviceUse::Run& run = part.run;
    if (run.used == 0) key.front() += run.num_nodes;
    if (part.taken == 0 && (run.used == 0 || run.free() == 0)) continue;
    const std::size_t last = key.size() - 4;
    if (key.size() > 4 && key[last] == run.group && key[last + 1] == part.taken &&
        key[last + 2] == run.used) {
      key[last + 3] += run.num_nodes;
    } else {
      key.insert(key.end(), {run.group, part.taken, run.used, run.num_nodes});
    }
  }
  return key;
}

std::vector<int> PlacementGraph::last_stages_first() const {
  std::vector<int> order(stages_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [this](int a, int b) { return stages_[a].num_left < stages_[b].num_left; });
  return order;
}

}  // namespace pptrain
