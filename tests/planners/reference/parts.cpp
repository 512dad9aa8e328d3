#include <algorithm>
#include <set>

#include "planners/reference/cost.hpp"

namespace pptrain::reference {

namespace {

/// The stage's devices, row after row, in rows of `degree`.
std::vector<std::vector<DeviceId>> rows_of_degree(const Stage& stage, int degree) {
  std::vector<std::vector<DeviceId>> rows;
  for (const auto& row : stage.devices) {
    for (const DeviceId device : row) {
      if (rows.empty() || static_cast<int>(rows.back().size()) == degree) rows.emplace_back();
      rows.back().push_back(device);
    }
  }
  return rows;
}

/// How much more than an even shard each member has, by the axis on which it has most.
std::vector<double> loads_of(const std::map<std::string, std::vector<Interval>>& shards,
                             int degree) {
  std::vector<double> loads(static_cast<std::size_t>(degree), shards.empty() ? 1.0 : 0.0);
  for (const auto& [axis, intervals] : shards) {
    for (std::size_t k = 0; k < loads.size(); ++k) {
      const double share =
          static_cast<double>(intervals[k].size()) / static_cast<double>(intervals.back().end);
      loads[k] = std::max(loads[k], degree * share);
    }
  }
  return loads;
}

/// One layer as a part: the block that holds it says how it is divided, else the stage.
Part part_of_layer(const Stage& stage, std::int64_t layer) {
  Part part = {{layer, layer + 1}, "megatron",    stage.recompute,
               stage.devices,      stage.samples, loads_of(stage.shards, stage.tensor_parallel)};
  for (const Block& block : stage.blocks) {
    if (!block.layers.contains(layer)) continue;
    part.pattern = pattern_names().name_of(block.pattern);
    part.devices = rows_of_degree(stage, block.tensor_parallel);
    part.samples = block.samples;
    part.loads = loads_of(block.shards, block.tensor_parallel);
  }
  if (part.degree() == 1) part.pattern = "replicate";
  part.slices = stage.zero_slices;
  part.groups = stage.zero_groups;
  if (part.groups.empty()) part.groups = {{0, part.num_replicas()}};
  return part;
}

}  // namespace

std::vector<DeviceId> Part::shard_group(int shard, Interval replicas) const {
  std::vector<DeviceId> group;
  for (auto r = replicas.begin; r < replicas.end; ++r)
    group.push_back(devices[static_cast<std::size_t>(r)][shard]);
  return group;
}

double Part::sharers(int replica) const {
  if (!slices.empty()) {
    return static_cast<double>(slices.back().end) /
           static_cast<double>(slices[static_cast<std::size_t>(replica)].size());
  }
  for (const Interval& group : groups) {
    if (group.contains(replica)) return static_cast<double>(group.size());
  }
  return 1.0;
}

double Part::largest_slice() const {
  double largest = 1.0;
  for (int r = 0; r < num_replicas() && !slices.empty(); ++r)
    largest = std::max(largest, num_replicas() / sharers(r));
  return largest;
}

double sum_over_replicas(const Cluster& cluster, const Part& part, int shard, double bytes) {
  double within = 0.0;
  double fewest = part.num_replicas();
  std::set<int> nodes;
  std::vector<DeviceId> first;
  for (const Interval& group : part.groups) {
    const std::vector<DeviceId> devices = part.shard_group(shard, group);
    within = std::max(within, all_reduce(cluster, devices, part.largest_slice() * bytes));
    fewest = std::min(fewest, static_cast<double>(devices.size()));
    first.push_back(devices[0]);
    nodes.insert(cluster.node_of(devices[0]));
  }
  return within + all_reduce(cluster, first, nodes.size() == 1 ? bytes / fewest : bytes);
}

std::vector<Part> parts_of(const Stage& stage) {
  if (stage.blocks.empty()) {
    std::vector<Part> whole(1, part_of_layer(stage, stage.layers[0].begin));
    whole[0].layers = stage.layers[0];
    return whole;
  }
  std::vector<Part> parts;
  for (auto layer = stage.layers[0].begin; layer < stage.layers[0].end; ++layer) {
    const Part next = part_of_layer(stage, layer);
    const bool alike = !parts.empty() && parts.back().devices == next.devices &&
                       parts.back().samples == next.samples &&
                       parts.back().pattern == next.pattern && parts.back().loads == next.loads;
    if (alike) {
      parts.back().layers.end = layer + 1;
    } else {
      parts.push_back(next);
    }
  }
  return parts;
}

}  // namespace pptrain::reference
