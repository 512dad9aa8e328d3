#include "simulate/layer_gathers.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include "simulate/runtime_rings.hpp"

namespace pptrain {
namespace {

/// What one member of a tensor-parallel group takes for a layer beside its tasks.
struct Member {
  Link link;  ///< slowest in its group of replicas
  int sharers = 1;
  double load = 1.0;
  double largest_slice = 1.0;  ///< as a multiple of an equal one
  double slices = 1.0;         ///< all that ZeRO divides, as a multiple of the replica's slice
  std::string kind;

  std::optional<RuntimeRing> ring = {};  ///< of a runtime whose collectives are not pptrain's

  double gather_seconds(double weight_bytes) const {
    const double bytes = largest_slice * load * weight_bytes;
    return ring ? ring->gather_seconds(bytes) : all_gather_seconds(link, sharers, bytes);
  }
};

/// `shared`: the bandwidth that uplinks leave each of them.
std::vector<Member> members_of(const Instance& instance, const Stage& stage, int replica,
                               double shared) {
  const Interval group = stage.sharding_group_of(replica);
  std::vector<Member> members;
  for (int shard = 0; shard < stage.tensor_parallel; ++shard) {
    const std::vector<DeviceId> devices = shard_group(stage, shard, group);
    Link link = instance.cluster.slowest_link(devices);
    link.bandwidth = std::min(link.bandwidth, shared);
    members.push_back({link, static_cast<int>(group.size()), member_load(stage, shard),
                       stage.largest_slice(), stage.slices_of(replica),
                       instance.cluster.kind_of(stage.devices[replica][shard]).name});
    if (!instance.profile.communication.is_own())
      members.back().ring = RuntimeRing(instance, devices);
  }
  return members;
}

/// Seconds by which the gathers of a pass over the layers delay it beyond its first layer's;
/// `beside`: of what is hidden beside a layer, the part by which the layer takes longer.
template <class Iterator>
double exposed_seconds(Iterator begin, Iterator end, Phase phase, double beside) {
  double exposed = 0.0;
  for (Iterator next = begin == end ? end : std::next(begin); next != end; ++begin, ++next) {
    const double computing = begin->seconds[static_cast<std::size_t>(phase)];
    exposed += std::max(0.0, next->gather - computing) + beside * std::min(next->gather, computing);
  }
  return exposed;
}

void add_pass(double exposed, const LayerCost& first, const LayerCost& last, Phase phase,
              TaskPrice& task) {
  task.seconds += exposed;
  task.communication += exposed;
  task.first_gather = first.gather;
  task.last_layer = last.seconds[static_cast<std::size_t>(phase)];
}

}  // namespace

double LayerCosts::shared_bandwidth(const Interval& group) {
  const auto [entry, is_new] = shared_.try_emplace(group.begin, 0.0);
  if (is_new) entry->second = gathering_.bandwidth(*part_.mesh, group);
  return entry->second;
}

std::vector<LayerCost> LayerCosts::of(int replica) {
  const Profile& profile = instance_.profile;
  const Stage& mesh = *part_.mesh;
  const ReplicaGroup group = replica_group_with(tensor_bandwidth_, instance_, part_, replica);
  const double shared = shared_bandwidth(mesh.sharding_group_of(replica));
  const std::vector<Member> members = members_of(instance_, mesh, replica, shared);
  std::vector<LayerCost> costs;
  for (const Interval& layers : part_.layers) {
    for (std::int64_t l = layers.begin; l < layers.end; ++l) {
      LayerCost& cost = costs.emplace_back();
      const StagePart alone = {&mesh, {{l, l + 1}}, part_.pattern, part_.holding};
      cost.seconds = computing_seconds(instance_, alone, group);
      cost.seconds += tensor_phase_seconds(instance_, alone, group);
      const double bytes =
          profile.bytes_per_parameter.weight * profile.layers[l].parameters / mesh.tensor_parallel;
      for (const Member& member : members) {
        if (bytes > 0.0) cost.gather = std::max(cost.gather, member.gather_seconds(bytes));
        const double update =
            profile.update_seconds(static_cast<int>(l), member.kind, mesh.tensor_parallel);
        cost.update = std::max(cost.update, member.load * update / member.slices);
      }
    }
  }
  return costs;
}

void add_layer_gathers(const std::vector<LayerCost>& layers, double beside,
                       std::array<TaskPrice, num_phases>& tasks) {
  const auto task = [&](Phase phase) -> TaskPrice& {
    return tasks[static_cast<std::size_t>(phase)];
  };
  add_pass(exposed_seconds(layers.begin(), layers.end(), Phase::forward, beside), layers.front(),
           layers.back(), Phase::forward, task(Phase::forward));
  for (const Phase phase : {Phase::backward_input, Phase::backward}) {
    add_pass(exposed_seconds(layers.rbegin(), layers.rend(), phase, beside), layers.back(),
             layers.front(), phase, task(phase));
  }
}

}  // namespace pptrain
