#include <algorithm>

#include "cost/replica_sum.hpp"
#include "cost/stage_time.hpp"

namespace pptrain {

double gather_seconds(const Instance& instance, const StagePart& part) {
  const Stage& mesh = *part.mesh;
  if (!mesh.divides_weights()) return 0.0;
  double parameters = 0.0;
  for (const Interval& layers : part.layers) parameters += parameters_of(instance.profile, layers);
  const double bytes = instance.profile.bytes_per_parameter.weight * parameters / mesh.tensor_parallel;
  double slowest = 0.0;
  for (int shard = 0; shard < mesh.tensor_parallel; ++shard) {
    const ReplicaSum group(instance.cluster, mesh, shard);
    slowest = std::max(slowest, 0.5 * group.within_seconds(member_load(mesh, shard) * bytes));
  }
  return slowest;
}

PassSeconds& PassSeconds::operator+=(const PassSeconds& other) {
  forward += other.forward;
  backward += other.backward;
  total += other.total;
  tensor += other.tensor;
  gather += other.gather;
  return *this;
}

TensorSeconds tensor_seconds(const Profile& profile, const Link& link, int layer, int n, double samples,
                             TensorPattern pattern) {
  if (n == 1) return {};
  const ProfileLayer& itself = profile.layers[layer];
  if (pattern == TensorPattern::megatron) {
    const double bytes = itself.tensor_parallel_allreduce_bytes * samples;
    const double seconds = bytes > 0.0 ? all_reduce_seconds(link, n, bytes) : 0.0;
    return {seconds, seconds};
  }
  if (pattern == TensorPattern::all_to_all) {
    // Choices, rows and what comes of them, each to some members.
    const double bytes = itself.exchange_bytes * samples / n;
    const double seconds = all_to_all_seconds(link, n, bytes) + 2.0 * all_to_all_seconds(link, n, 0.0);
    return {seconds, seconds};
  }
  const double input = layer == 0 ? 0.0 : profile.layers[layer - 1].output_bytes * samples;
  const double output = itself.output_bytes * samples;
  const bool last = layer + 1 == profile.num_layers();
  if (pattern == TensorPattern::sp1) {  // the loss is computed on shards of the outputs
    return {last ? 0.0 : all_gather_seconds(link, n, output), layer == 0 ? 0.0 : all_reduce_seconds(link, n, input)};
  }
  return {all_reduce_seconds(link, n, output), layer == 0 ? 0.0 : all_gather_seconds(link, n, input)};
}

TensorPattern least_communication(const Profile& profile, const Link& link, int layer, int n, double samples) {
  if (n == 1 || profile.layers[layer].tensor_parallel_allreduce_bytes > 0.0) return TensorPattern::megatron;
  const auto seconds = [&](TensorPattern pattern) {
    const TensorSeconds both = tensor_seconds(profile, link, layer, n, samples, pattern);
    return both.forward + both.backward;
  };
  return seconds(TensorPattern::sp1) <= seconds(TensorPattern::sp2) ? TensorPattern::sp1 : TensorPattern::sp2;
}

PassSeconds layer_seconds(const Instance& instance, const ReplicaGroup& group, int layer, int tensor_parallel,
                          Recompute recompute, TensorPattern pattern) {
  const bool again_forward = recompute == Recompute::full;
  PassSeconds pass;
  for (std::size_t k = 0; k < group.kinds.size(); ++k) {
    const LayerSeconds seconds = device_seconds(instance, group.kinds[k], layer, tensor_parallel, group.samples);
    const double again = again_forward ? seconds.forward : 0.0;
    const double load = group.loads.empty() ? 1.0 : group.loads[k];
    pass.forward = std::max(pass.forward, load * seconds.forward);
    pass.backward = std::max(pass.backward, load * (seconds.backward_input + seconds.backward_weight + again));
    pass.total = std::max(pass.total, load * (seconds.total() + again));
  }
  const TensorSeconds more =
      tensor_seconds(instance.profile, group.link, layer, tensor_parallel, group.samples, pattern);
  const double backward = more.backward + (again_forward ? more.forward : 0.0);
  pass.forward += more.forward;
  pass.backward += backward;
  pass.tensor = more.forward + backward;
  pass.total += pass.tensor;
  return pass;
}

PassSeconds layers_seconds(const Instance& instance, const ReplicaGroup& group, Interval layers, int tensor_parallel,
                           Recompute recompute, TensorPattern pattern) {
  PassSeconds sum;
  for (std::int64_t layer = layers.begin; layer < layers.end; ++layer) {
    sum += layer_seconds(instance, group, static_cast<int>(layer), tensor_parallel, recompute, pattern);
  }
  return sum;
}

TensorSeconds batch_norm_seconds(const Profile& profile, const Link& link, int layer, int replicas) {
  const ProfileLayer& itself = profile.layers[layer];
  if (replicas == 1 || itself.batch_norms == 0.0) return {};
  constexpr double bytes_per_channel = 2.0 * sizeof(float);
  const double each = bytes_per_channel * itself.batch_norm_channels / itself.batch_norms;
  return {itself.batch_norms * all_gather_seconds(link, replicas, replicas * each),
          itself.batch_norms * all_reduce_seconds(link, replicas, each)};
}

TensorSeconds batch_norm_seconds(const Instance& instance, const StagePart& part) {
  const Stage& mesh = *part.mesh;
  TensorSeconds slowest;
  if (mesh.replicas == 1) return slowest;
  for (int shard = 0; shard < mesh.tensor_parallel; ++shard) {
    std::vector<DeviceId> devices;
    for (const auto& row : mesh.devices) devices.push_back(row[static_cast<std::size_t>(shard)]);
    const Link link = instance.cluster.slowest_link(devices);
    TensorSeconds sum;
    for (const Interval& layers : part.layers) {
      for (std::int64_t layer = layers.begin; layer < layers.end; ++layer) {
        const TensorSeconds own = batch_norm_seconds(instance.profile, link, static_cast<int>(layer), mesh.replicas);
        sum.forward += own.forward;
        sum.backward += own.backward + (mesh.recompute == Recompute::full ? own.forward : 0.0);
      }
    }
    slowest = {std::max(slowest.forward, sum.forward), std::max(slowest.backward, sum.backward)};
  }
  return slowest;
}

PassSeconds part_seconds(const Instance& instance, const StagePart& part) {
  PassSeconds slowest;
  for (const ReplicaGroup& group : replica_groups(instance.cluster, *part.mesh)) {
    PassSeconds sum;
    for (const Interval& layers : part.layers) {
      sum += layers_seconds(instance, group, layers, part.mesh->tensor_parallel, part.mesh->recompute, part.pattern);
    }
    slowest.forward = std::max(slowest.forward, sum.forward);
    slowest.backward = std::max(slowest.backward, sum.backward);
    if (sum.total < slowest.total) continue;
    slowest.total = sum.total;
    slowest.tensor = sum.tensor;
  }
  const double gather = gather_seconds(instance, part);
  slowest += {gather, gather, 2.0 * gather, 0.0, 2.0 * gather};
  const TensorSeconds norms = batch_norm_seconds(instance, part);
  const double both = norms.forward + norms.backward;
  slowest += {norms.forward, norms.backward, both, both, 0.0};
  return slowest;
}

PassSeconds repartition_seconds(const Instance& instance, const StageParts::Boundary& boundary) {
  std::vector<DeviceId> devices;
  for (const auto& row : boundary.before->devices) devices.insert(devices.end(), row.begin(), row.end());
  const Link link = instance.cluster.slowest_link(devices);
  const double bytes = instance.profile.layers[boundary.layer - 1].output_bytes;
  const auto seconds = [&](double samples) {
    return samples > 0.0 ? samples * bytes / link.bandwidth + link.latency : 0.0;
  };
  const double forward = seconds(missing_samples(*boundary.before, *boundary.after));
  const double backward = seconds(missing_samples(*boundary.after, *boundary.before));
  return {forward, backward, forward + backward, forward + backward, 0.0};
}

PassSeconds stage_seconds(const Instance& instance, const StageParts& parts) {
  PassSeconds sum;
  for (const StagePart& part : parts.all()) sum += part_seconds(instance, part);
  for (const StageParts::Boundary& boundary : parts.boundaries()) sum += repartition_seconds(instance, boundary);
  return sum;
}

}  // namespace pptrain
