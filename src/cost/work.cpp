#include <limits>
#include <map>
#include <utility>

#include "cost/stage_time.hpp"

namespace pptrain {
namespace {

/// Seconds that one device of a kind computes of a part for one replica's samples of a micro-batch.
double part_work(const Instance& instance, const StagePart& part, int kind, double samples) {
  double pass = 0.0;
  for (const Interval& layers : part.layers) {
    for (std::int64_t l = layers.begin; l < layers.end; ++l) {
      const LayerSeconds seconds =
          device_seconds(instance, kind, static_cast<int>(l), part.mesh->tensor_parallel, samples);
      pass += seconds.total() + (part.mesh->recompute == Recompute::full ? seconds.forward : 0.0);
    }
  }
  return pass;
}

/// Bytes that a member of a ring all-reduce sends.
double ring_bytes(int n, double bytes) { return 2.0 * (n - 1) / n * bytes; }

/// What a device sends or reduces in one iteration.
struct Sent {
  double bytes = 0.0;
  double messages = 0.0;
};

class SentByDevice {
 public:
  SentByDevice(const Instance& instance, const Plan& plan)
      : instance_(instance), plan_(plan), sent_(static_cast<std::size_t>(instance.cluster.num_devices())) {
    for (const Stage& stage : plan.stages) {
      const StageParts parts(stage);
      for (const StagePart& part : parts.all()) {
        add_gradients(part);
        add_tensor(part);
      }
      for (const StageParts::Boundary& boundary : parts.boundaries()) add_repartition(boundary);
    }
    const std::vector<Chunk> chunks = chunks_in_order(plan);
    for (std::size_t c = 1; c < chunks.size(); ++c) {
      const StageParts sender(plan.stages[chunks[c - 1].stage], {chunks[c - 1].layers});
      const StageParts receiver(plan.stages[chunks[c].stage], {chunks[c].layers});
      add_cut(sender.last_mesh(), receiver.first_mesh(), chunks[c].layers.begin - 1);
    }
  }
  const Sent& of(DeviceId device) const { return sent_[device.index()]; }

 private:
  double micro_batches() const { return static_cast<double>(plan_.micro_batches); }

  void add(DeviceId device, double bytes, double messages) {
    sent_[device.index()].bytes += bytes;
    sent_[device.index()].messages += messages;
  }

  /// The gradient all-reduce and, with ZeRO stage 3, gathering the weights before F and before B.
  void add_gradients(const StagePart& part) {
    const Stage& mesh = *part.mesh;
    double parameters = 0.0;
    for (const Interval& layers : part.layers) parameters += parameters_of(instance_.profile, layers);
    const BytesPerParameter& per_parameter = instance_.profile.bytes_per_parameter;
    const double gradients = per_parameter.sent() * parameters / mesh.tensor_parallel;
    const double gathers = mesh.zero_stage >= 3 ? micro_batches() : 0.0;  // of F and B: an all-reduce's volume
    const double weights = per_parameter.weight * parameters / mesh.tensor_parallel;
    const auto groups = static_cast<int>(mesh.sharding_groups().size());
    for (int j = 0; j < mesh.replicas; ++j) {
      const auto sharers = static_cast<int>(mesh.sharding_group_of(j).size());
      const double bytes = ring_bytes(sharers, gradients + gathers * weights) + ring_bytes(groups, gradients / sharers);
      const double messages = 2.0 * (sharers - 1) * (1.0 + gathers) + 2.0 * (groups - 1);
      for (int k = 0; k < mesh.tensor_parallel; ++k) add(mesh.devices[j][k], member_load(mesh, k) * bytes, messages);
    }
  }

  void add_tensor(const StagePart& part) {
    const Stage& mesh = *part.mesh;
    // At one byte per second and one second of latency the collectives' formulas count bytes and messages.
    const Link bytes_only = {1.0, 0.0};
    const Link messages_only = {std::numeric_limits<double>::infinity(), 1.0};
    const auto total = [&](const Link& link, double samples) {
      double sum = 0.0;
      for (const Interval& layers : part.layers) {
        for (std::int64_t l = layers.begin; l < layers.end; ++l) {
          const TensorSeconds both =
              tensor_seconds(instance_.profile, link, static_cast<int>(l), mesh.tensor_parallel, samples, part.pattern);
          sum += both.forward + both.backward;
        }
      }
      return sum * micro_batches();
    };
    for (int j = 0; j < mesh.replicas; ++j) {
      const auto samples = static_cast<double>(mesh.samples[j].size());
      const double bytes = total(bytes_only, samples);
      const double messages = total(messages_only, samples);
      for (const DeviceId device : mesh.devices[j]) add(device, bytes, messages);
    }
  }

  /// What each device lacks of the activations, and of their gradients; it is counted where it arrives.
  void add_repartition(const StageParts::Boundary& boundary) {
    const double bytes_per_sample = instance_.profile.layers[boundary.layer - 1].output_bytes * micro_batches();
    const int devices = boundary.before->replicas * boundary.before->tensor_parallel;
    const auto at = [](const Stage& mesh, int d) {
      return std::pair(mesh.samples[d / mesh.tensor_parallel],
                       mesh.devices[d / mesh.tensor_parallel][d % mesh.tensor_parallel]);
    };
    for (int d = 0; d < devices; ++d) {
      const auto [before, device] = at(*boundary.before, d);
      const Interval after = at(*boundary.after, d).first;
      const std::int64_t common = intersect(before, after).size();
      for (const std::int64_t missing : {after.size() - common, before.size() - common}) {
        if (missing > 0) add(device, static_cast<double>(missing) * bytes_per_sample, micro_batches());
      }
    }
  }

  void add_cut(const Stage& sender, const Stage& receiver, std::int64_t layer) {
    const double bytes_per_sample = instance_.profile.layers[layer].output_bytes * micro_batches();
    for_each_pair(sender, receiver, [&](DeviceId a, DeviceId b, double samples) {
      // Activations one way, their gradients the other.
      add(a, samples * bytes_per_sample, micro_batches());
      add(b, samples * bytes_per_sample, micro_batches());
    });
  }

  const Instance& instance_;
  const Plan& plan_;
  std::vector<Sent> sent_;
};

/// Core-seconds of sending on a node whose devices share cores: a copy at the link's rate, and per
/// message what it costs to wake up the receiver. The latency of such a node's link is that of
/// messages between all devices at once, in pairs: what its cores work in that time is shared by
/// half as many messages as there are devices. What nodes of one device send, over their uplinks, is paced by
/// these: only the messages count.
double copy_seconds(const NodeGroup& group, const Sent& sent) {
  const bool alone = group.num_devices == 1;
  const double latency = alone ? group.uplink.latency : group.link.latency;
  const double per_message = latency * group.cores / (0.5 * group.core_sharers());
  return (alone ? 0.0 : sent.bytes / group.link.bandwidth) + sent.messages * per_message;
}

}  // namespace

std::vector<double> device_work_seconds(const Instance& instance, const Plan& plan) {
  std::vector<double> work(static_cast<std::size_t>(instance.cluster.num_devices()), 0.0);
  const auto micro_batches = static_cast<double>(plan.micro_batches);
  for (const Stage& stage : plan.stages) {
    const StageParts parts(stage);
    for (const StagePart& part : parts.all()) {
      std::map<std::pair<int, std::int64_t>, double> known;  // by kind and samples
      for (int j = 0; j < part.mesh->replicas; ++j) {
        const std::int64_t samples = part.mesh->samples[j].size();
        for (int k = 0; k < part.mesh->tensor_parallel; ++k) {
          const DeviceId device = part.mesh->devices[j][k];
          const int kind = instance.cluster.kind_index_of(device);
          const auto [entry, is_new] = known.try_emplace({kind, samples}, 0.0);
          if (is_new) entry->second = part_work(instance, part, kind, static_cast<double>(samples));
          work[device.index()] += micro_batches * member_load(*part.mesh, k) * entry->second;
        }
      }
    }
    std::map<int, double> updates;  // by kind
    for (const auto& row : stage.devices) {
      for (const DeviceId device : row) {
        const auto [entry, is_new] = updates.try_emplace(instance.cluster.kind_index_of(device), 0.0);
        if (is_new) entry->second = update_seconds(instance, parts, entry->first);
        work[device.index()] += entry->second;
      }
    }
  }
  return work;
}

std::vector<double> node_work_seconds(const Instance& instance, const Plan& plan) {
  const Cluster& cluster = instance.cluster;
  const std::vector<double> work = device_work_seconds(instance, plan);
  const SentByDevice sent(instance, plan);
  std::vector<double> nodes(static_cast<std::size_t>(cluster.num_nodes()), 0.0);
  for (int d = 0; d < cluster.num_devices(); ++d) {
    const DeviceId device(d);
    const NodeGroup& group = cluster.groups[cluster.group_of(device)];
    double seconds = work[device.index()];
    if (group.shares_cores()) seconds += copy_seconds(group, sent.of(device));
    nodes[cluster.node_of(device)] += seconds;
  }
  return nodes;
}

}  // namespace pptrain
