#include "planners/frames/frame_costs.hpp"

#include <algorithm>
#include <limits>

#include "base/infinity.hpp"
#include "cost/two_level_sum.hpp"
#include "planners/stages/stage_mesh.hpp"

namespace pptrain {
namespace {

Stage stage_on(const Mesh& mesh, int tensor) {
  Stage stage;
  stage.replicas = static_cast<int>(mesh.size());
  stage.tensor_parallel = tensor;
  stage.devices = mesh;
  stage.samples.resize(mesh.size());
  return stage;
}

std::vector<Mesh> meshes_of(const Site& site, const Grid& grid) {
  std::vector<Mesh> meshes(static_cast<std::size_t>(grid.pipeline));
  auto next = site.devices.begin();
  for (Mesh& mesh : meshes) {
    for (int j = 0; j < grid.data; ++j, next += grid.tensor) mesh.emplace_back(next, next + grid.tensor);
  }
  return meshes;
}

std::vector<DeviceId> devices_of(const Mesh& mesh) {
  std::vector<DeviceId> devices;
  for (const auto& row : mesh) devices.insert(devices.end(), row.begin(), row.end());
  return devices;
}

}  // namespace

const std::vector<double>& FrameTables::weight_seconds(const ReplicaGroup& group, int tensor_parallel) {
  const auto [entry, is_new] = weights_.try_emplace({group.kinds, tensor_parallel, group.samples});
  std::vector<double>& sums = entry->second;
  if (!is_new) return sums;
  sums.push_back(0.0);
  for (int l = 0; l < instance_.profile.num_layers(); ++l) {
    double least = infinity;
    for (const int kind : group.kinds) {
      least =
          std::min(least, device_seconds(instance_, kind, l, tensor_parallel, group.samples).backward_weight);
    }
    sums.push_back(sums.back() + least);
  }
  return sums;
}

const std::vector<double>& FrameTables::update_seconds(int kind, int tensor_parallel) {
  const auto [entry, is_new] = updates_.try_emplace({kind, tensor_parallel});
  std::vector<double>& sums = entry->second;
  if (!is_new) return sums;
  const std::string& name = instance_.cluster.device_kinds[static_cast<std::size_t>(kind)].name;
  sums.push_back(0.0);
  for (int l = 0; l < instance_.profile.num_layers(); ++l) {
    sums.push_back(sums.back() + instance_.profile.update_seconds(l, name, tensor_parallel));
  }
  return sums;
}

PlacedGrid::PlacedGrid(const Instance& instance, const Site& site, const Grid& grid, ZeroGroup zero_group)
    : instance_(instance), grid_(grid), meshes_(meshes_of(site, grid)) {
  possible_ = has_rows(instance);
  if (!possible_) return;
  layout_ = place(instance.cluster, grid, meshes_, zero_group);
  mixes_ = std::any_of(layout_.kinds.begin(), layout_.kinds.end(),
                       [](const StageLayout& kind) { return kind.replicas.size() > 1; });
}

bool PlacedGrid::has_rows(const Instance& instance) const {
  const Cluster& cluster = instance.cluster;
  for (const NodeGroup& group : cluster.groups) {
    if (grid_.tensor > group.num_devices) continue;
    if (!instance.profile.has_degree(group.device_kind, grid_.tensor)) return false;
  }
  for (const Mesh& mesh : meshes_) {
    for (const auto& row : mesh) {
      for (const DeviceId device : row) {
        if (cluster.node_of(device) != cluster.node_of(row.front())) return false;
      }
    }
  }
  return true;
}

std::vector<Interval> PlacedGrid::samples(LayerSums& sums, int stage, std::int64_t micro_batch) const {
  if (layout_.stage(stage).replicas.size() == 1) return even_division(micro_batch, grid_.data);
  const StageMesh mesh(instance_.cluster, grid_.tensor, devices_of(meshes_[static_cast<std::size_t>(stage)]));
  return *shared_samples(sums, mesh, micro_batch, Shares::balanced);
}

FrameCosts::FrameCosts(const Instance& instance, FrameTables& tables, const PlacedGrid& placed,
                       std::int64_t micro_batch)
    : instance_(instance),
      placed_(placed),
      sums_(tables.sums()),
      micro_batch_(micro_batch) {
  const std::vector<int>& kinds = placed.layout().stage_kinds;
  for (int k = 0; k < static_cast<int>(placed.layout().kinds.size()); ++k) {
    add_kind(tables, static_cast<int>(std::find(kinds.begin(), kinds.end(), k) - kinds.begin()));
  }
}

void FrameCosts::add_kind(FrameTables& tables, int stage) {
  const Cluster& cluster = instance_.cluster;
  const StageLayout& layout = placed_.layout().stage(stage);
  const Mesh& mesh = placed_.meshes()[static_cast<std::size_t>(stage)];
  const int tensor = placed_.grid().tensor;
  Stage on = stage_on(mesh, tensor);
  on.samples = placed_.samples(sums_, stage, micro_batch_);
  StageKind& made = kinds_.emplace_back();
  ReplicaGroup slowest;
  double longest = -1.0;
  int first_kind = 0;
  double least_samples = infinity;
  for (const ReplicaGroup& group : replica_groups(cluster, on)) {
    const double seconds = sums_.times(group, tensor, Recompute::none).total.back();
    least_samples = std::min(least_samples, group.samples);
    const double memory = cluster.device_kinds[static_cast<std::size_t>(group.kinds.front())].memory;
    made.holders.push_back({group.samples, memory});
    for (const int kind : group.kinds) {
      made.holders.back().memory =
          std::min(made.holders.back().memory, cluster.device_kinds[static_cast<std::size_t>(kind)].memory);
    }
    if (seconds <= longest) continue;
    longest = seconds;
    slowest = group;
    first_kind = group.kinds.front();
  }
  made.times[0] = &sums_.times(slowest, tensor, Recompute::none);
  made.times[1] = &sums_.times(slowest, tensor, Recompute::full);
  made.weight = &tables.weight_seconds(slowest, tensor);
  made.update = &tables.update_seconds(first_kind, tensor);
  made.sharers = layout.sharers;
  for (const ReplicaSum& sum : layout.sums) {
    for (const ReplicaSum::Ring& ring : sum.within()) {
      const StageKind::Collective one = {(ring.seconds(1e9) - ring.seconds(0.0)) / 1e9, ring.seconds(0.0)};
      if (one.per_byte > made.ring.per_byte) made.ring = one;
    }
  }
  if (mesh.size() > 1) {
    std::vector<DeviceId> sharing;
    for (const auto& row : mesh) sharing.push_back(row.front());
    const TwoLevelSum levels = two_level_sum(cluster, sharing, 1e9);
    made.sum = {std::max(levels.within, levels.across) / 1e9, 0.0};
  }
  made.cuts.assign(static_cast<std::size_t>(instance_.profile.num_layers()) + 1, 0.0);
  for (int l = 1; l < instance_.profile.num_layers(); ++l) {
    const double bytes = least_samples * instance_.profile.layers[static_cast<std::size_t>(l) - 1].output_bytes;
    for (const Link& link : layout.next_links) {
      double& seconds = made.cuts[static_cast<std::size_t>(l)];
      seconds = std::max(seconds, bytes / link.bandwidth + link.latency);
    }
  }
}

double FrameCosts::least_seconds(const FrameModes& modes) const {
  const bool again = modes.recompute == RecomputeRule::full;
  const int layers = instance_.profile.num_layers();
  double speed = 0.0;
  for (int s = 0; s < placed_.grid().pipeline; ++s) {
    const PassSums& times = *kind(s).times[again];
    speed += 1.0 / (times.forward[layers] + times.backward[layers]);
  }
  double longest = 0.0;
  for (int l = 0; l < layers; ++l) {
    double least = infinity;
    for (const StageKind& kind : kinds_) {
      const PassSums& times = *kind.times[again];
      least = std::min(least, times.forward[l + 1] + times.backward[l + 1] - times.forward[l] - times.backward[l]);
    }
    longest = std::max(longest, least);
  }
  return static_cast<double>(micro_batches()) * std::max(1.0 / speed, longest);
}

}  // namespace pptrain
