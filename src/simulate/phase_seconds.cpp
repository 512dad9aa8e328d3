#include "simulate/phase_seconds.hpp"

#include <algorithm>
#include <cmath>

#include "base/infinity.hpp"
#include "cost/shared_uplinks.hpp"
#include "simulate/runtime_rings.hpp"

namespace pptrain {
namespace {

double& at(PhaseSeconds& seconds, Phase phase) { return seconds[static_cast<std::size_t>(phase)]; }

/// One layer on one kind of device; `again`: of F, what comes again before B.
PhaseSeconds layer_computing(const LayerSeconds& row, double load, double again) {
  PhaseSeconds seconds = {};
  at(seconds, Phase::forward) = load * row.forward;
  at(seconds, Phase::backward_input) = load * (row.backward_input + again);
  at(seconds, Phase::backward_weight) = load * row.backward_weight;
  at(seconds, Phase::backward) = load * (row.backward_input + row.backward_weight + again);
  return seconds;
}

template <class Visit>
void for_each_layer(const StagePart& part, const Visit& visit) {
  for (const Interval& layers : part.layers) {
    for (std::int64_t l = layers.begin; l < layers.end; ++l) visit(static_cast<int>(l));
  }
}

/// Collectives of a layer in F and in B, one after another, in the runtime that the profile is of.
TensorSeconds collective_seconds(const Instance& instance, const StagePart& part,
                                 const ReplicaGroup& group, int layer) {
  const Profile& profile = instance.profile;
  const int degree = part.computed_degree();
  const ProfileLayer& itself = profile.layers[static_cast<std::size_t>(layer)];
  const double bytes = itself.tensor_parallel_allreduce_bytes * group.samples;
  if (profile.communication.is_own() || part.pattern != TensorPattern::megatron || degree == 1 ||
      bytes == 0.0) {
    return tensor_seconds(profile, group.link, layer, degree, group.samples, part.pattern);
  }
  const double each = itself.output_bytes * group.samples;  // a sum is of what the layer puts out
  const double number = each > 0.0 ? std::max(1.0, std::round(bytes / each)) : 1.0;
  const double seconds =
      number *
      RuntimeRing(instance, group.link, degree, group.kinds).all_reduce_seconds(bytes / number);
  return {seconds, seconds};
}

}  // namespace

PhaseSeconds& operator+=(PhaseSeconds& sum, const PhaseSeconds& more) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
  return sum;
}

PhaseSeconds largest(const PhaseSeconds& a, const PhaseSeconds& b) {
  PhaseSeconds result = a;
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = std::max(a[i], b[i]);
  return result;
}

PhaseSeconds computing_seconds(const Instance& instance, const StagePart& part,
                               const ReplicaGroup& group) {
  PhaseSeconds sum = {};
  for_each_layer(part, [&](int layer) {
    PhaseSeconds slowest = {};
    for (std::size_t k = 0; k < group.kinds.size(); ++k) {
      const LayerSeconds row =
          device_seconds(instance, group.kinds[k], layer, part.computed_degree(), group.samples);
      const double load = group.loads.empty() ? 1.0 : group.loads[k];
      const ProfileLayer& itself = instance.profile.layers[static_cast<std::size_t>(layer)];
      const double again = itself.again(row.forward, part.mesh->recompute);
      slowest = largest(slowest, layer_computing(row, load, again));
    }
    sum += slowest;
  });
  return sum;
}

double tensor_bandwidth(const Instance& instance, const StagePart& part) {
  const bool alone = part.mesh->tensor_parallel == 1 || !instance.profile.communication.is_own();
  return alone ? infinity : shared_uplink_bandwidth(instance.cluster, part.mesh->devices);
}

ReplicaGroup replica_group_with(double bandwidth, const Instance& instance, const StagePart& part,
                                int replica) {
  ReplicaGroup group = replica_group(instance.cluster, part, replica);
  group.link.bandwidth = std::min(group.link.bandwidth, bandwidth);
  return group;
}

PhaseSeconds tensor_phase_seconds(const Instance& instance, const StagePart& part,
                                  const ReplicaGroup& group) {
  PhaseSeconds sum = {};
  for_each_layer(part, [&](int layer) {
    const TensorSeconds more = collective_seconds(instance, part, group, layer);
    const ProfileLayer& itself = instance.profile.layers[static_cast<std::size_t>(layer)];
    const double backward =
        more.backward + (itself.sums_again(part.mesh->recompute) ? more.forward : 0.0);
    at(sum, Phase::forward) += more.forward;
    at(sum, Phase::backward_input) += backward;
    at(sum, Phase::backward) += backward;
  });
  return sum;
}

ReplicaGroup member_group(const Cluster& cluster, const StagePart& part, int replica, int member) {
  const MemberWork work = member_work(part, replica, member);
  ReplicaGroup group;
  group.kinds = {cluster.kind_index_of(part.mesh->devices[replica][member])};
  group.loads = {work.load};
  group.samples = work.samples;
  return group;
}

}  // namespace pptrain
