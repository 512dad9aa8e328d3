// Steps to plans with other devices, or other samples on the same ones.

#include <algorithm>
#include <utility>

#include "plan/zero_groups.hpp"
#include "planners/frames/frame.hpp"
#include "planners/frames/neighbours.hpp"
#include "planners/frames/shape.hpp"

namespace pptrain {
namespace {

/// Whether stages may have other devices at all.
bool may_move(const SearchSpace& space, const Plan& plan) {
  return has_plain_stages(plan) && space.restrictions.annotations.empty();
}

/// Adds the plan if the profile has the degrees of its stages on their devices.
void add(const SearchSpace& space, std::vector<Plan>& plans, Plan plan) {
  std::vector<DeviceRows> meshes;
  for (const Stage& stage : plan.stages) meshes.push_back(stage.devices);
  if (!has_rows(space.instance, meshes)) return;
  for (Stage& stage : plan.stages) {
    const ZeroGroup group = zero_group_under(space, stage, zero_group_of(stage));
    divide_state(stage, stage.zero_stage, group, space.instance.cluster);
  }
  plans.push_back(std::move(plan));
}

/// Whether two replicas of a stage lie on the same kind of nodes with as many samples.
bool are_alike(const Cluster& cluster, const Stage& stage, int a, int b) {
  const auto same_group = [&cluster](DeviceId x, DeviceId y) {
    return cluster.group_of(x) == cluster.group_of(y);
  };
  const auto& first = stage.devices[static_cast<std::size_t>(a)];
  const auto& second = stage.devices[static_cast<std::size_t>(b)];
  return stage.samples[static_cast<std::size_t>(a)].size() ==
             stage.samples[static_cast<std::size_t>(b)].size() &&
         std::equal(first.begin(), first.end(), second.begin(), same_group);
}

/// Whether a replica before this one is like it.
bool repeats(const Cluster& cluster, const Stage& stage, int replica) {
  for (int before = 0; before < replica; ++before) {
    if (are_alike(cluster, stage, before, replica)) return true;
  }
  return false;
}

void give_sample(std::vector<Interval>& samples, int from, int to) {
  std::int64_t begin = 0;
  for (int j = 0; j < static_cast<int>(samples.size()); ++j) {
    Interval& own = samples[static_cast<std::size_t>(j)];
    const std::int64_t size = own.size() + (j == to ? 1 : 0) - (j == from ? 1 : 0);
    own = {begin, begin + size};
    begin += size;
  }
}

void leave_out_replica(Stage& stage, int replica, std::int64_t micro_batch) {
  stage.devices.erase(stage.devices.begin() + replica);
  stage.samples.erase(stage.samples.begin() + replica);
  stage.samples = scaled_samples(stage.samples, micro_batch);
  --stage.replicas;
}

/// Puts the layers of a stage, chunk by chunk, on its neighbour.
void join_stage(Plan& plan, std::size_t stage, std::size_t neighbour) {
  const std::vector<Interval>& given = plan.stages[stage].layers;
  std::vector<Interval>& taken = plan.stages[neighbour].layers;
  for (std::size_t c = 0; c < given.size(); ++c) {
    taken[c] = {std::min(taken[c].begin, given[c].begin), std::max(taken[c].end, given[c].end)};
  }
  plan.stages.erase(plan.stages.begin() + static_cast<std::ptrdiff_t>(stage));
}

std::vector<DeviceId> unused_devices(const Cluster& cluster, const Plan& plan) {
  std::vector<bool> used(static_cast<std::size_t>(cluster.num_devices()), false);
  for (const Stage& stage : plan.stages) {
    for (const auto& row : stage.devices) {
      for (const DeviceId device : row) used[device.index()] = true;
    }
  }
  std::vector<DeviceId> unused;
  for (int d = 0; d < cluster.num_devices(); ++d) {
    if (!used[static_cast<std::size_t>(d)]) unused.emplace_back(d);
  }
  return unused;
}

/// The first so many devices of each group of nodes, as rows of so many members.
std::vector<DeviceRows> meshes_in(const Cluster& cluster, const std::vector<DeviceId>& devices,
                                  int rows, int members) {
  std::vector<DeviceRows> meshes;
  for (int g = 0; g < static_cast<int>(cluster.groups.size()); ++g) {
    DeviceRows mesh;
    for (const DeviceId device : devices) {
      if (cluster.group_of(device) != g) continue;
      if (mesh.empty() || std::ssize(mesh.back()) == members) {
        if (std::ssize(mesh) == rows) break;
        mesh.emplace_back();
      }
      mesh.back().push_back(device);
    }
    if (std::ssize(mesh) == rows && std::ssize(mesh.back()) == members)
      meshes.push_back(std::move(mesh));
  }
  return meshes;
}

/// The plan with the second half of each chunk of a stage on a stage of its own behind it. In a
/// loop the halves of all chunks are in the order of the stages; in a V those of the second chunk
/// are the other way round.
std::optional<Plan> with_stage_behind(const Plan& plan, std::size_t s, const DeviceRows& mesh) {
  Plan other = plan;
  Stage behind = other.stages[s];
  behind.devices = mesh;
  const bool is_v = schedule_kind(plan.schedule.name).placement != ChunkPlacement::loop;
  for (std::size_t c = 0; c < behind.layers.size(); ++c) {
    Interval& first = other.stages[s].layers[c];
    Interval& second = behind.layers[c];
    if (first.size() < 2) return std::nullopt;
    const bool turned = is_v && c % 2 == 1;
    const std::int64_t middle = first.begin + first.size() / 2;
    (turned ? second : first).end = middle;
    (turned ? first : second).begin = middle;
  }
  other.stages.insert(other.stages.begin() + static_cast<std::ptrdiff_t>(s) + 1, std::move(behind));
  return other;
}

}  // namespace

std::vector<Plan> shifted_samples(const SearchSpace& space, const Plan& plan) {
  std::vector<Plan> plans;
  if (!may_move(space, plan)) return plans;
  const Cluster& cluster = space.instance.cluster;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const Stage& stage = plan.stages[s];
    for (int from = 0; from < stage.replicas; ++from) {
      if (stage.samples[static_cast<std::size_t>(from)].size() < 2 || repeats(cluster, stage, from))
        continue;
      for (int to = 0; to < stage.replicas; ++to) {
        if (to == from || are_alike(cluster, stage, from, to) || repeats(cluster, stage, to))
          continue;
        give_sample(plans.emplace_back(plan).stages[s].samples, from, to);
      }
    }
  }
  return plans;
}

std::vector<Plan> exchanged_devices(const SearchSpace& space, const Plan& plan) {
  std::vector<Plan> plans;
  if (!may_move(space, plan)) return plans;
  for (std::size_t a = 0; a < plan.stages.size(); ++a) {
    for (std::size_t b = a + 1; b < plan.stages.size(); ++b) {
      Plan other = plan;
      Stage& first = other.stages[a];
      Stage& second = other.stages[b];
      if (first.replicas != second.replicas || first.tensor_parallel != second.tensor_parallel)
        continue;
      std::swap(first.devices, second.devices);
      std::swap(first.samples, second.samples);
      add(space, plans, std::move(other));
    }
  }
  if (plan.num_devices() > most_exchanged_devices) return plans;
  Plan other = plan;
  std::vector<DeviceId*> places;
  for (Stage& stage : other.stages) {
    for (auto& row : stage.devices) {
      for (DeviceId& device : row) places.push_back(&device);
    }
  }
  for (std::size_t a = 0; a < places.size(); ++a) {
    for (std::size_t b = a + 1; b < places.size(); ++b) {
      if (space.instance.cluster.node_of(*places[a]) == space.instance.cluster.node_of(*places[b]))
        continue;
      std::swap(*places[a], *places[b]);
      add(space, plans, other);
      std::swap(*places[a], *places[b]);
    }
  }
  return plans;
}

std::vector<Plan> fewer_devices(const SearchSpace& space, const Plan& plan) {
  std::vector<Plan> plans;
  const Restrictions& fixed = space.restrictions;
  if (!may_move(space, plan)) return plans;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const Stage& stage = plan.stages[s];
    for (int j = 0; !fixed.data && stage.replicas > 1 && j < stage.replicas; ++j) {
      if (repeats(space.instance.cluster, stage, j)) continue;
      Plan other = plan;
      leave_out_replica(other.stages[s], j, plan.micro_batch_size);
      add(space, plans, std::move(other));
    }
    if (fixed.pipeline) continue;
    if (s > 0) join_stage(plans.emplace_back(plan), s, s - 1);
    if (s + 1 < plan.stages.size()) join_stage(plans.emplace_back(plan), s, s + 1);
  }
  const auto divided = [](const Stage& stage) { return stage.replicas > 1; };
  if (!fixed.data && plan.num_stages() > 1 &&
      std::all_of(plan.stages.begin(), plan.stages.end(), divided)) {
    Plan other = plan;
    for (Stage& stage : other.stages)
      leave_out_replica(stage, stage.replicas - 1, plan.micro_batch_size);
    add(space, plans, std::move(other));
  }
  return plans;
}

std::vector<Plan> more_devices(const SearchSpace& space, const Plan& plan) {
  std::vector<Plan> plans;
  const Restrictions& fixed = space.restrictions;
  if (!may_move(space, plan)) return plans;
  const Cluster& cluster = space.instance.cluster;
  const std::vector<DeviceId> unused = unused_devices(cluster, plan);
  if (unused.empty()) return plans;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const Stage& stage = plan.stages[s];
    if (!fixed.pipeline) {
      for (const DeviceRows& mesh :
           meshes_in(cluster, unused, stage.replicas, stage.tensor_parallel)) {
        if (auto other = with_stage_behind(plan, s, mesh)) add(space, plans, std::move(*other));
      }
    }
    if (fixed.data || stage.replicas >= plan.micro_batch_size) continue;
    for (const DeviceRows& mesh : meshes_in(cluster, unused, 1, stage.tensor_parallel)) {
      Plan other = plan;
      Stage& more = other.stages[s];
      more.devices.push_back(mesh.front());
      more.samples = even_division(plan.micro_batch_size, ++more.replicas);
      add(space, plans, std::move(other));
    }
  }
  return plans;
}

}  // namespace pptrain
