#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "base/infinity.hpp"
#include "cost/offload.hpp"
#include "cost/replica_sum.hpp"
#include "cost/stage_time.hpp"

namespace pptrain {
namespace {

/// The largest `member_load` of the devices of this kind.
double largest_load(const Cluster& cluster, const Stage& mesh, int kind) {
  if (mesh.shards.empty()) return 1.0;
  double largest = 0.0;
  for (const auto& row : mesh.devices) {
    for (int k = 0; k < mesh.tensor_parallel; ++k) {
      if (cluster.kind_index_of(row[k]) == kind) largest = std::max(largest, member_load(mesh, k));
    }
  }
  return largest;
}

/// The whole optimizer state as a multiple of the largest slice that a device of this kind holds.
double least_slices(const Cluster& cluster, const Stage& mesh, int kind) {
  if (mesh.zero_stage == 0) return 1.0;
  if (mesh.zero_slices.empty()) return least_sharers(mesh);
  double least = infinity;
  for (int j = 0; j < mesh.replicas; ++j) {
    const std::vector<DeviceId>& row = mesh.devices[static_cast<std::size_t>(j)];
    const auto is_of_kind = [&](DeviceId device) { return cluster.kind_index_of(device) == kind; };
    if (std::any_of(row.begin(), row.end(), is_of_kind)) least = std::min(least, mesh.slices_of(j));
  }
  return least;
}

/// The link of a device to the memory of its host. Throws `Error` (exit code 2) where there is
/// none.
Link host_link(const Instance& instance, const NodeGroup& group, const char* what) {
  if (group.host_link.bandwidth > 0.0) return group.host_link;
  throw_bad_input(
      {"", fmt::format("a stage of the plan offloads its {}", what),
       fmt::format("nodes \"{}\" of cluster \"{}\" have no host_link", group.kind,
                   instance.cluster.name),
       "add host_link = { bandwidth = \"...\" } to the [[node]], or plan without offload"});
}

/// Optimizer state of one device of the stage.
double state_bytes(const Instance& instance, const StageParts& parts, int kind) {
  double bytes = 0.0;
  for (const StagePart& part : parts.all()) {
    for (const Interval& layers : part.layers) {
      bytes += instance.profile.bytes_per_parameter.optimizer /
               least_slices(instance.cluster, *part.mesh, kind) *
               parameters_of(instance.profile, layers) / part.mesh->tensor_parallel *
               largest_load(instance.cluster, *part.mesh, kind);
    }
  }
  return bytes;
}

/// Seconds of bringing optimizer state in from the host and out again.
double offload_seconds(const Instance& instance, const StageParts& parts, const NodeGroup& group,
                       int kind) {
  const Link link = host_link(instance, group, "optimizer state");
  return 2.0 * (state_bytes(instance, parts, kind) / link.bandwidth + link.latency);
}

}  // namespace

double update_seconds(const Instance& instance, const StageParts& parts, int kind) {
  const std::string& name = instance.cluster.device_kinds[kind].name;
  double seconds = 0.0;
  for (const StagePart& part : parts.all()) {
    double sum = 0.0;
    for (const Interval& layers : part.layers) {
      for (std::int64_t l = layers.begin; l < layers.end; ++l) {
        sum += instance.profile.update_seconds(static_cast<int>(l), name, part.computed_degree());
      }
    }
    sum *= static_cast<double>(part.computed_degree()) / part.mesh->tensor_parallel;
    seconds += largest_load(instance.cluster, *part.mesh, kind) * sum /
               least_slices(instance.cluster, *part.mesh, kind);
  }
  return seconds;
}

double step_seconds(const Instance& instance, const StageParts& parts, const Stage& stage,
                    DeviceId device) {
  const int kind = instance.cluster.kind_index_of(device);
  const NodeGroup& group = instance.cluster.groups[instance.cluster.group_of(device)];
  const double offload = stage.offload ? offload_seconds(instance, parts, group, kind) : 0.0;
  return update_seconds(instance, parts, kind) + offload;
}

double step_bytes(const Instance& instance, const StageParts& parts, const Stage& stage,
                  DeviceId device) {
  const double per_parameter = instance.profile.bytes_per_parameter.optimizer;
  if (!stage.offload || per_parameter == 0.0) return 0.0;
  const double bytes = state_bytes(instance, parts, instance.cluster.kind_index_of(device));
  const std::size_t chunk =
      offloaded_chunk_elements(static_cast<std::size_t>(bytes / per_parameter));
  return std::min(2.0 * static_cast<double>(chunk) * per_parameter, bytes);
}

double activation_offload_seconds(const Instance& instance, const StagePart& part, int replica) {
  const Stage& mesh = *part.mesh;
  double stored = 0.0;
  for (const Interval& layers : part.layers) {
    for (std::int64_t l = layers.begin; l < layers.end; ++l) {
      stored += stored_bytes_of(instance.profile, l, mesh.recompute);
    }
  }
  const double bytes = replica_group(instance.cluster, part, replica).samples * stored;
  double slowest = 0.0;
  for (const DeviceId device : mesh.devices[replica]) {
    const NodeGroup& group = instance.cluster.groups[instance.cluster.group_of(device)];
    const Link link = host_link(instance, group, "activations");
    slowest = std::max(slowest, bytes / link.bandwidth + link.latency);
  }
  return slowest;
}

double longest_update_seconds(const Instance& instance, const Plan& plan) {
  double longest = 0.0;
  for (const Stage& stage : plan.stages) {
    const StageParts parts(stage);
    std::map<int, DeviceId> groups;  // of nodes: what a device's step takes depends on them alone
    for (const auto& row : stage.devices) {
      for (const DeviceId device : row) groups.emplace(instance.cluster.group_of(device), device);
    }
    for (const auto& [group, device] : groups) {
      longest = std::max(longest, step_seconds(instance, parts, stage, device));
    }
  }
  return longest;
}

}  // namespace pptrain
