#include "cost/stage_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.hpp"

namespace pptrain {

bool ReplicaGroup::operator==(const ReplicaGroup& other) const {
  return kinds == other.kinds && loads == other.loads && link.bandwidth == other.link.bandwidth &&
         link.latency == other.link.latency && samples == other.samples;
}

double member_load(const Mesh& mesh, int member) {
  double load = mesh.shards.empty() ? 1.0 : 0.0;
  for (const auto& [axis, parts] : mesh.shards) {
    const auto share =
        static_cast<double>(parts[member].size()) / static_cast<double>(parts.back().end);
    load = std::max(load, mesh.tensor_parallel * share);
  }
  return load;
}

MemberWork member_work(const StagePart& part, int replica, int member) {
  const auto samples = static_cast<double>(part.mesh->samples[replica].size());
  const double load = member_load(*part.mesh, member);
  if (part.pattern != TensorPattern::all_to_all) return {samples, load};
  const int members = part.mesh->tensor_parallel;
  const auto own = static_cast<double>(part.holding->samples[replica * members + member].size());
  return {std::max(own, samples * load / members), 1.0};
}

ReplicaGroup replica_group(const Cluster& cluster, const StagePart& part, int replica) {
  const std::vector<DeviceId>& devices = part.mesh->devices[replica];
  const int members = static_cast<int>(devices.size());
  ReplicaGroup group;
  std::vector<MemberWork> works;
  for (int k = 0; k < members; ++k) {
    works.push_back(member_work(part, replica, k));
    group.samples = std::max(group.samples, works.back().samples);
  }
  std::map<int, double> loads;  // by kind
  for (int k = 0; k < members; ++k) {
    double& load = loads[cluster.kind_index_of(devices[k])];
    load = std::max(load, group.samples > 0.0 ? works[k].load * (works[k].samples / group.samples)
                                              : works[k].load);
  }
  for (const auto& [kind, load] : loads) {
    group.kinds.push_back(kind);
    if (!part.mesh->shards.empty()) group.loads.push_back(load);
  }
  group.link = cluster.slowest_link(devices);
  return group;
}

std::vector<ReplicaGroup> replica_groups(const Cluster& cluster, const StagePart& part) {
  std::vector<ReplicaGroup> groups;
  for (int j = 0; j < part.mesh->replicas; ++j) {
    ReplicaGroup group = replica_group(cluster, part, j);
    if (std::find(groups.begin(), groups.end(), group) == groups.end())
      groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<ReplicaGroup> replica_groups(const Cluster& cluster, const Stage& stage) {
  return replica_groups(cluster, StagePart{&stage, {}, TensorPattern::megatron, &stage});
}

LayerSeconds device_seconds(const Instance& instance, int kind, int layer, int tensor_parallel,
                            double samples) {
  const std::string& name = instance.cluster.device_kinds[kind].name;
  const auto seconds = instance.profile.seconds(layer, name, tensor_parallel, samples);
  if (seconds) return *seconds;
  throw_bad_input(
      {fmt::format("profile of {}", instance.profile.model),
       fmt::format("no time of layer \"{}\" on device kind \"{}\" at tensor_parallel {}",
                   instance.profile.layers[layer].name, name, tensor_parallel),
       "the plan has such a stage", "profile at that degree, or use another plan"});
}

std::vector<Chunk> chunks_in_order(const Plan& plan) {
  std::vector<Chunk> chunks;
  for (int i = 0; i < plan.num_stages(); ++i) {
    for (const Interval& layers : plan.stages[i].layers) chunks.push_back({i, layers});
  }
  std::sort(chunks.begin(), chunks.end(),
            [](const Chunk& a, const Chunk& b) { return a.layers < b.layers; });
  return chunks;
}

void for_each_pair(const Mesh& sender, const Mesh& receiver,
                   const std::function<void(DeviceId, DeviceId, double)>& visit) {
  // Both divisions are in order, so the overlaps are found in one pass over both.
  for (int i = 0, j = 0; i < sender.replicas && j < receiver.replicas;) {
    const auto samples =
        static_cast<double>(intersect(sender.samples[i], receiver.samples[j]).size());
    for (int a = 0; a < sender.tensor_parallel && samples > 0.0; ++a) {
      for (int b = 0; b < receiver.tensor_parallel; ++b) {
        if (sender.tensor_parallel == receiver.tensor_parallel && a != b) continue;
        visit(sender.devices[i][a], receiver.devices[j][b], samples);
      }
    }
    if (sender.samples[i].end <= receiver.samples[j].end) {
      ++i;
    } else {
      ++j;
    }
  }
}

double parameters_of(const Profile& profile, Interval layers) {
  double parameters = 0.0;
  for (std::int64_t layer = layers.begin; layer < layers.end; ++layer)
    parameters += profile.layers[layer].parameters;
  return parameters;
}

std::vector<DeviceId> shard_group(const Mesh& stage, int shard) {
  return shard_group(stage, shard, {0, std::ssize(stage.devices)});
}

std::vector<DeviceId> shard_group(const Mesh& stage, int shard, const Interval& replicas) {
  std::vector<DeviceId> group;
  group.reserve(static_cast<std::size_t>(replicas.size()));
  for (std::int64_t r = replicas.begin; r < replicas.end; ++r)
    group.push_back(stage.devices[r][shard]);
  return group;
}

}  // namespace pptrain
