#include <map>
#include <utility>

#include "cost/stage_time.hpp"

namespace pptrain {
namespace {

/// Seconds that one device of a kind computes for one replica of a stage in an iteration.
double stage_work(const Instance& instance, const Plan& plan, const Stage& stage, int kind, double samples) {
  double pass = 0.0;
  for (const Interval& layers : stage.layers) {
    for (std::int64_t l = layers.begin; l < layers.end; ++l) {
      const LayerSeconds seconds = device_seconds(instance, kind, static_cast<int>(l), stage.tensor_parallel, samples);
      pass += seconds.total() + (stage.recompute == Recompute::full ? seconds.forward : 0.0);
    }
  }
  return static_cast<double>(plan.micro_batches) * pass + update_seconds(instance, stage, kind);
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
    for (const Stage& stage : plan.stages) add_collectives(stage);
    const std::vector<Chunk> chunks = chunks_in_order(plan);
    for (std::size_t c = 1; c < chunks.size(); ++c) {
      add_cut(plan.stages[chunks[c - 1].stage], plan.stages[chunks[c].stage], chunks[c].layers.begin - 1);
    }
  }
  const Sent& of(DeviceId device) const { return sent_[device.index()]; }

 private:
  double micro_batches() const { return static_cast<double>(plan_.micro_batches); }

  void add_collectives(const Stage& stage) {
    double gradients = 0.0;
    double tensor = 0.0;  // per sample: once in F and once in B
    double all_reduces = 0.0;
    for (const Interval& layers : stage.layers) {
      gradients += gradient_bytes(instance_.profile, stage, layers);
      for (std::int64_t l = layers.begin; l < layers.end; ++l) {
        const double bytes = instance_.profile.layers[l].tensor_parallel_allreduce_bytes;
        tensor += 2.0 * bytes;
        if (bytes > 0.0) all_reduces += 2.0 * micro_batches();
      }
    }
    for (int j = 0; j < stage.replicas; ++j) {
      const auto samples = static_cast<double>(stage.samples[j].size()) * micro_batches();
      for (const DeviceId device : stage.devices[j]) {
        Sent& sent = sent_[device.index()];
        sent.bytes += ring_bytes(stage.replicas, gradients) + ring_bytes(stage.tensor_parallel, tensor * samples);
        sent.messages += 2.0 * (stage.replicas - 1) + 2.0 * (stage.tensor_parallel - 1) * all_reduces;
      }
    }
  }

  void add_cut(const Stage& sender, const Stage& receiver, std::int64_t layer) {
    const double bytes_per_sample = instance_.profile.layers[layer].output_bytes * micro_batches();
    for_each_pair(sender, receiver, [&](DeviceId a, DeviceId b, double samples) {
      for (const DeviceId sender_of_one : {a, b}) {  // activations one way, their gradients the other
        sent_[sender_of_one.index()].bytes += samples * bytes_per_sample;
        sent_[sender_of_one.index()].messages += micro_batches();
      }
    });
  }

  const Instance& instance_;
  const Plan& plan_;
  std::vector<Sent> sent_;
};

/// Core-seconds of sending on a node whose devices share cores: a copy at the link's rate, and per
/// message what it costs to wake up the receiver. The latency of such a node's link is that of
/// messages between all devices at once, in pairs: what its cores work in that time is shared by
/// half as many messages as there are devices.
double copy_seconds(const NodeGroup& group, const Sent& sent) {
  const double per_message = group.link.latency * group.cores / (0.5 * group.num_devices);
  return sent.bytes / group.link.bandwidth + sent.messages * per_message;
}

}  // namespace

std::vector<double> device_work_seconds(const Instance& instance, const Plan& plan) {
  std::vector<double> work(static_cast<std::size_t>(instance.cluster.num_devices()), 0.0);
  for (const Stage& stage : plan.stages) {
    std::map<std::pair<int, std::int64_t>, double> known;  // by kind and samples
    for (int j = 0; j < stage.replicas; ++j) {
      const std::int64_t samples = stage.samples[j].size();
      for (const DeviceId device : stage.devices[j]) {
        const int kind = instance.cluster.kind_index_of(device);
        const auto [entry, is_new] = known.try_emplace({kind, samples}, 0.0);
        if (is_new) entry->second = stage_work(instance, plan, stage, kind, static_cast<double>(samples));
        work[device.index()] = entry->second;
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
