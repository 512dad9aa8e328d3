#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.hpp"
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

/// Optimizer state of one device of the stage, in from the host and out again.
double offload_seconds(const Instance& instance, const StageParts& parts, const NodeGroup& group, int kind) {
  if (group.host_link.bandwidth == 0.0) {
    throw_bad_input({"", "a stage of the plan offloads its optimizer state",
                     fmt::format("nodes \"{}\" of cluster \"{}\" have no host_link", group.kind, instance.cluster.name),
                     "add host_link = { bandwidth = \"...\" } to the [[node]], or plan without offload"});
  }
  double bytes = 0.0;
  for (const StagePart& part : parts.all()) {
    for (const Interval& layers : part.layers) {
      bytes += optimizer_bytes_per_parameter(instance.profile.bytes_per_parameter, *part.mesh) *
               parameters_of(instance.profile, layers) / part.mesh->tensor_parallel *
               largest_load(instance.cluster, *part.mesh, kind);
    }
  }
  return 2.0 * (bytes / group.host_link.bandwidth + group.host_link.latency);
}

}  // namespace

double update_seconds(const Instance& instance, const StageParts& parts, int kind) {
  const std::string& name = instance.cluster.device_kinds[kind].name;
  double seconds = 0.0;
  for (const StagePart& part : parts.all()) {
    double sum = 0.0;
    for (const Interval& layers : part.layers) {
      for (std::int64_t l = layers.begin; l < layers.end; ++l) {
        sum += instance.profile.update_seconds(static_cast<int>(l), name, part.mesh->tensor_parallel);
      }
    }
    seconds += largest_load(instance.cluster, *part.mesh, kind) * sum /
               (part.mesh->zero_stage >= 1 ? least_sharers(*part.mesh) : 1);
  }
  return seconds;
}

double step_seconds(const Instance& instance, const StageParts& parts, const Stage& stage, DeviceId device) {
  const int kind = instance.cluster.kind_index_of(device);
  const NodeGroup& group = instance.cluster.groups[instance.cluster.group_of(device)];
  const double offload = stage.offload ? offload_seconds(instance, parts, group, kind) : 0.0;
  return update_seconds(instance, parts, kind) + offload;
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
