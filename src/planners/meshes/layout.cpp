#include "planners/meshes/layout.hpp"

#include <algorithm>
#include <limits>

#include "plan/zero_groups.hpp"

namespace pptrain {
namespace {

bool equal(const Link& a, const Link& b) {
  return a.bandwidth == b.bandwidth && a.latency == b.latency;
}

bool equal(const std::vector<Link>& a, const std::vector<Link>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Link& x, const Link& y) { return equal(x, y); });
}

void add_distinct(std::vector<Link>& links, const Link& link) {
  const bool known =
      std::any_of(links.begin(), links.end(), [&link](const Link& l) { return equal(l, link); });
  if (!known) links.push_back(link);
}

void add_stage(GridLayout& layout, StageLayout stage) {
  const auto known = std::find(layout.kinds.begin(), layout.kinds.end(), stage);
  layout.stage_kinds.push_back(static_cast<int>(known - layout.kinds.begin()));
  if (known == layout.kinds.end()) layout.kinds.push_back(std::move(stage));
}

/// A stage without samples on these replicas.
Stage stage_on(DeviceRows devices, int tensor) {
  Stage stage;
  stage.replicas = static_cast<int>(devices.size());
  stage.tensor_parallel = tensor;
  stage.samples.resize(devices.size());
  stage.devices = std::move(devices);
  return stage;
}

void add_distinct(std::vector<ReplicaSum>& sums, const ReplicaSum& sum) {
  if (std::find(sums.begin(), sums.end(), sum) == sums.end()) sums.push_back(sum);
}

void add_sums(const Cluster& cluster, Stage stage, ZeroGroup zero_group, StageLayout& layout) {
  if (zero_group == ZeroGroup::node) stage.zero_groups = node_groups(cluster, stage);
  layout.sharers = least_sharers(stage);
  for (const ReplicaSum& sum : replica_sums(cluster, stage)) add_distinct(layout.sums, sum);
}

StageLayout layout_of(const Cluster& cluster, const DeviceRows& mesh, const DeviceRows* next,
                      ZeroGroup zero_group) {
  const Stage stage = stage_on(mesh, static_cast<int>(mesh.front().size()));
  StageLayout layout;
  layout.replicas = replica_groups(cluster, stage);
  layout.memory = std::numeric_limits<double>::infinity();
  for (const auto& row : mesh) {
    for (const DeviceId device : row)
      layout.memory = std::min(layout.memory, cluster.kind_of(device).memory);
  }
  add_sums(cluster, stage, zero_group, layout);
  for (std::size_t j = 0; next != nullptr && j < mesh.size(); ++j) {
    for (std::size_t k = 0; k < mesh[j].size(); ++k) {
      add_distinct(layout.next_links, cluster.path(mesh[j][k], (*next)[j][k]));
    }
  }
  return layout;
}

/// Stages of consecutive devices. Nodes of a group are equal and devices are numbered node by node,
/// so what a device sees repeats from node to node: of each group as many devices are looked at as
/// a node has, whatever the size of the cluster.
class DefaultPlacement {
 public:
  DefaultPlacement(const Cluster& cluster, const Grid& grid, ZeroGroup zero_group)
      : cluster_(cluster), grid_(grid), zero_group_(zero_group) {
    int end = 0;
    for (const NodeGroup& group : cluster.groups)
      ends_.push_back(end += group.count * group.num_devices);
  }

  StageLayout stage(int i) const {
    const int size = grid_.data * grid_.tensor;
    const int first = i * size;
    StageLayout layout;
    layout.replicas = replica_groups(cluster_, stage_on(some_replicas(first), grid_.tensor));
    layout.memory = least_memory(first, first + size);
    add_sums_from(first, layout);
    if (i + 1 < grid_.pipeline) layout.next_links = links_to_next(first, size);
    return layout;
  }

 private:
  int group_of(int device) const { return cluster_.group_of(DeviceId(device)); }

  void add_sums_from(int first, StageLayout& layout) const {
    if (zero_group_ == ZeroGroup::node) {
      DeviceRows rows(grid_.data);
      for (auto& row : rows) {
        for (int k = 0; k < grid_.tensor; ++k) row.emplace_back(first++);
      }
      return add_sums(cluster_, stage_on(std::move(rows), grid_.tensor), zero_group_, layout);
    }
    layout.sharers = grid_.data;
    for (int k = 0; k < grid_.tensor; ++k) {
      const Link link = cluster_.slowest_link(some_devices(first + k, grid_.tensor, grid_.data));
      add_distinct(layout.sums, ReplicaSum({grid_.data, link}));
    }
  }

  int devices_per_node(int group) const { return cluster_.groups[group].num_devices; }

  /// Some of the devices first, first + stride, ... whose slowest link is that of all: of each
  /// group every place within a node with its successor, and the last one.
  std::vector<DeviceId> some_devices(int first, int stride, int count) const {
    std::vector<DeviceId> devices;
    for (int j = 0; j < count;) {
      const int group = group_of(first + j * stride);
      const int last = std::min(count - 1, (ends_[group] - 1 - first) / stride);
      const int shown = std::min(last, j + devices_per_node(group));
      for (; j <= shown; ++j) devices.emplace_back(first + j * stride);
      if (shown < last) devices.emplace_back(first + last * stride);
      j = last + 1;
    }
    return devices;
  }

  /// Replicas of each distinct kind, at every place within a node and across every border of
  /// groups.
  DeviceRows some_replicas(int first) const {
    const int tensor = grid_.tensor;
    DeviceRows rows;
    for (int j = 0; j < grid_.data;) {
      const int start = first + j * tensor;
      const int group = group_of(start);
      const int whole = std::min(grid_.data - j, (ends_[group] - start) / tensor);  // replicas
                                                                                    // inside the
                                                                                    // group
      const int shown = std::clamp(whole, 1, devices_per_node(group));
      for (int k = 0; k < shown; ++k) rows.push_back(some_devices(start + k * tensor, 1, tensor));
      j += std::max(whole, 1);
    }
    return rows;
  }

  double least_memory(int first, int end) const {
    double least = std::numeric_limits<double>::infinity();
    for (int device = first; device < end; device = ends_[group_of(device)]) {
      least = std::min(least, cluster_.kind_of(DeviceId(device)).memory);
    }
    return least;
  }

  /// Links from each device to the one `shift` further on, which has its place in the next stage.
  std::vector<Link> links_to_next(int first, int shift) const {
    std::vector<Link> links;
    for (int device = first; device < first + shift;) {
      const int group = group_of(device);
      const int next_group = group_of(device + shift);
      const int alike = std::min(
          {ends_[group] - device, ends_[next_group] - device - shift, first + shift - device});
      const int shown = group == next_group ? std::min(alike, devices_per_node(group)) : 1;
      for (int k = 0; k < shown; ++k) {
        add_distinct(links, cluster_.path(DeviceId(device + k), DeviceId(device + k + shift)));
      }
      device += alike;
    }
    return links;
  }

  const Cluster& cluster_;
  const Grid& grid_;
  ZeroGroup zero_group_;
  std::vector<int> ends_;  // first device behind each group
};

}  // namespace

bool StageLayout::operator==(const StageLayout& other) const {
  return replicas == other.replicas && sums == other.sums && sharers == other.sharers &&
         equal(next_links, other.next_links) && memory == other.memory;
}

GridLayout place(const Cluster& cluster, const Grid& grid, ZeroGroup zero_group) {
  const DefaultPlacement placement(cluster, grid, zero_group);
  GridLayout layout = {grid, {}, {}};
  for (int i = 0; i < grid.pipeline; ++i) add_stage(layout, placement.stage(i));
  return layout;
}

GridLayout place(const Cluster& cluster, const Grid& grid, const std::vector<DeviceRows>& meshes,
                 ZeroGroup zero_group) {
  GridLayout layout = {grid, {}, {}};
  for (int i = 0; i < grid.pipeline; ++i) {
    const DeviceRows* next = i + 1 < grid.pipeline ? &meshes[i + 1] : nullptr;
    add_stage(layout, layout_of(cluster, meshes[i], next, zero_group));
  }
  return layout;
}

}  // namespace pptrain
