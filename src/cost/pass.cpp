#include <algorithm>

#include "base/error.hpp"
#include "cost/replica_sum.hpp"
#include "cost/stage_time.hpp"

namespace pptrain {

double gather_seconds(const Instance& instance, const StagePart& part) {
  const Stage& mesh = *part.mesh;
  if (!mesh.divides_weights()) return 0.0;
  double parameters = 0.0;
  for (const Interval& layers : part.layers) parameters += parameters_of(instance.profile, layers);
  const double bytes =
      instance.profile.bytes_per_parameter.weight * parameters / mesh.tensor_parallel;
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

TensorSeconds tensor_seconds(const Profile& profile, const Link& link, int layer, int n,
                             double samples, TensorPattern pattern) {
  if (n == 1) return {};
  const ProfileLayer& itself = profile.layers[layer];
  if (pattern == TensorPattern::megatron) {
    const double bytes = itself.tensor_parallel_allreduce_bytes * samples;
    const double seconds = bytes > 0.0 ? all_reduce_seconds(link, n, bytes) : 0.0;
    return {seconds, seconds};
  }
  PPTRAIN_ASSERT(pattern != TensorPattern::all_to_all,
                 "members with samples of their own share no layer {}", layer);
  const double input = layer == 0 ? 0.0 : profile.layers[layer - 1].output_bytes * samples;
  const double output = itself.output_bytes * samples;
  const bool last = layer + 1 == profile.num_layers();
  if (pattern == TensorPattern::sp1) {  // the loss is computed on shards of the outputs
    return {last ? 0.0 : all_gather_seconds(link, n, output),
            layer == 0 ? 0.0 : all_reduce_seconds(link, n, input)};
  }
  return {all_reduce_seconds(link, n, output),
          layer == 0 ? 0.0 : all_gather_seconds(link, n, input)};
}

TensorPattern least_communication(const Profile& profile, const Link& link, int layer, int n,
                                  double samples) {
  if (n == 1 || profile.layers[layer].tensor_parallel_allreduce_bytes > 0.0)
    return TensorPattern::megatron;
  const auto seconds = [&](TensorPattern pattern) {
    const TensorSeconds both = tensor_seconds(profile, link, layer, n, samples, pattern);
    return both.forward + both.backward;
  };
  return seconds(TensorPattern::sp1) <= seconds(TensorPattern::sp2) ? TensorPattern::sp1
                                                                    : TensorPattern::sp2;
}

PassSeconds layer_seconds(const Instance& instance, const ReplicaGroup& group, int layer,
                          int tensor_parallel, Recompute recompute, TensorPattern pattern) {
  const ProfileLayer& itself = instance.profile.layers[static_cast<std::size_t>(layer)];
  PassSeconds pass;
  for (std::size_t k = 0; k < group.kinds.size(); ++k) {
    const LayerSeconds seconds =
        device_seconds(instance, group.kinds[k], layer, tensor_parallel, group.samples);
    const double again = itself.again(seconds.forward, recompute);
    const double load = group.loads.empty() ? 1.0 : group.loads[k];
    pass.forward = std::max(pass.forward, load * seconds.forward);
    pass.backward =
        std::max(pass.backward, load * (seconds.backward_input + seconds.backward_weight + again));
    pass.total = std::max(pass.total, load * (seconds.total() + again));
  }
  const TensorSeconds more =
      tensor_seconds(instance.profile, group.link, layer, tensor_parallel, group.samples, pattern);
  const double backward = more.backward + (itself.sums_again(recompute) ? more.forward : 0.0);
  pass.forward += more.forward;
  pass.backward += backward;
  pass.tensor = more.forward + backward;
  pass.total += pass.tensor;
  return pass;
}

PassSeconds layers_seconds(const Instance& instance, const ReplicaGroup& group, Interval layers,
                           int tensor_parallel, Recompute recompute, TensorPattern pattern) {
  PassSeconds sum;
  for (std::int64_t layer = layers.begin; layer < layers.end; ++layer) {
    sum += layer_seconds(instance, group, static_cast<int>(layer), tensor_parallel, recompute,
                         pattern);
  }
  return sum;
}

TensorSeconds batch_norm_seconds(const Profile& profile, const Link& link, int layer,
                                 int replicas) {
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
        const ProfileLayer& itself = instance.profile.layers[static_cast<std::size_t>(layer)];
        const TensorSeconds own =
            batch_norm_seconds(instance.profile, link, static_cast<int>(layer), mesh.replicas);
        sum.forward += own.forward;
        sum.backward += own.backward + (itself.sums_again(mesh.recompute) ? own.forward : 0.0);
      }
    }
    slowest = {std::max(slowest.forward, sum.forward), std::max(slowest.backward, sum.backward)};
  }
  return slowest;
}

namespace {

/// Seconds that a byte of each sample's rows takes, where members have these numbers of samples and
/// parts of the experts: of the member whose own link, to the nearest of the others, is busy for
/// longest, sending or receiving.
double exchange_seconds_per_byte(const Cluster& cluster, const std::vector<DeviceId>& members,
                                 const std::vector<double>& samples,
                                 const std::vector<Interval>& experts) {
  double all = 0.0;
  for (const double own : samples) all += own;
  double longest = 0.0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    double bandwidth = 0.0;
    for (std::size_t k = 0; k < members.size(); ++k) {
      if (k != i)
        bandwidth = std::max(bandwidth, cluster.slowest_link({members[i], members[k]}).bandwidth);
    }
    const double share =
        static_cast<double>(experts[i].size()) / static_cast<double>(experts.back().end);
    longest = std::max(
        longest, std::max(samples[i] * (1.0 - share), (all - samples[i]) * share) / bandwidth);
  }
  return longest;
}

/// What layers exchange with the members that have the experts.
struct Exchanged {
  double bytes = 0.0;  ///< of a sample's rows
  double layers = 0.0;
  void add(const ProfileLayer& layer) {
    bytes += layer.exchange_bytes;
    layers += 1.0;
  }
};

}  // namespace

TensorSeconds exchange_seconds(const Instance& instance, const StagePart& part) {
  TensorSeconds slowest;
  if (part.pattern != TensorPattern::all_to_all) return slowest;
  const Stage& mesh = *part.mesh;
  Exchanged once, again;  // `again`: in B, what F exchanges
  for (const Interval& interval : part.layers) {
    for (std::int64_t layer = interval.begin; layer < interval.end; ++layer) {
      const ProfileLayer& itself = instance.profile.layers[static_cast<std::size_t>(layer)];
      once.add(itself);
      if (itself.sums_again(mesh.recompute)) again.add(itself);
    }
  }
  const auto members = static_cast<std::size_t>(mesh.tensor_parallel);
  for (std::size_t j = 0; j < mesh.devices.size(); ++j) {
    std::vector<double> samples;
    for (std::size_t i = 0; i < members; ++i) {
      samples.push_back(static_cast<double>(part.holding->samples[j * members + i].size()));
    }
    const double step =
        static_cast<double>(members - 1) * instance.cluster.slowest_link(mesh.devices[j]).latency;
    const double per_byte = exchange_seconds_per_byte(instance.cluster, mesh.devices[j], samples,
                                                      mesh.shards.at("experts"));
    const auto seconds = [&](const Exchanged& all, double steps) {
      return all.bytes * per_byte + steps * all.layers * step;
    };
    slowest.forward = std::max(slowest.forward, seconds(once, exchange_steps.forward));
    slowest.backward = std::max(slowest.backward, seconds(once, exchange_steps.backward) +
                                                      seconds(again, exchange_steps.forward));
  }
  return slowest;
}

PassSeconds part_seconds(const Instance& instance, const StagePart& part) {
  PassSeconds slowest;
  for (const ReplicaGroup& group : replica_groups(instance.cluster, part)) {
    PassSeconds sum;
    for (const Interval& layers : part.layers) {
      sum += layers_seconds(instance, group, layers, part.computed_degree(), part.mesh->recompute,
                            part.pattern);
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
  const TensorSeconds rows = exchange_seconds(instance, part);
  slowest += {rows.forward, rows.backward, rows.forward + rows.backward,
              rows.forward + rows.backward, 0.0};
  return slowest;
}

PassSeconds repartition_seconds(const Instance& instance, const StageParts::Boundary& boundary) {
  std::vector<DeviceId> devices;
  for (const auto& row : boundary.before->devices)
    devices.insert(devices.end(), row.begin(), row.end());
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
  for (const StageParts::Boundary& boundary : parts.boundaries())
    sum += repartition_seconds(instance, boundary);
  return sum;
}

}  // namespace pptrain
