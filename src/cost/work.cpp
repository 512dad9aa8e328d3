#include <map>
#include <utility>

#include "cost/messages.hpp"
#include "cost/stage_time.hpp"

namespace pptrain {
namespace {

/// Seconds that one device of a kind computes of a part for these samples of a micro-batch.
double part_work(const Instance& instance, const StagePart& part, int kind, double samples) {
  double pass = 0.0;
  for (const Interval& layers : part.layers) {
    for (std::int64_t l = layers.begin; l < layers.end; ++l) {
      const LayerSeconds seconds =
          device_seconds(instance, kind, static_cast<int>(l), part.computed_degree(), samples);
      const ProfileLayer& layer = instance.profile.layers[static_cast<std::size_t>(l)];
      pass += seconds.total() + layer.again(seconds.forward, part.mesh->recompute);
    }
  }
  return pass;
}

/// Core-seconds of a message and of a wait. Where they are not known a message costs what its
/// latency says, waking up the receiver included: the latency of such a node's link is that of
/// messages between all devices at once, in pairs, and what its cores work in that time is shared
/// by half as many messages as there are devices.
CoreSeconds core_seconds(const NodeGroup& group) {
  if (group.core_seconds.message > 0.0 || group.core_seconds.wait > 0.0) return group.core_seconds;
  const double latency = group.num_devices == 1 ? group.uplink.latency : group.link.latency;
  return {latency * group.cores / (0.5 * group.core_sharers()), 0.0};
}

/// Core-seconds of what a device sends and waits for on a node whose devices share cores: a copy at
/// the link's rate, messages and waits. What nodes of one device send, over their uplinks, is paced
/// by these: nothing is copied.
double sending_seconds(const NodeGroup& group, const DeviceMessages& sent) {
  const CoreSeconds each = core_seconds(group);
  const double copies = group.num_devices == 1 ? 0.0 : sent.bytes / group.link.bandwidth;
  return copies + sent.messages * each.message + sent.waits * each.wait;
}

}  // namespace

std::vector<double> device_work_seconds(const Instance& instance, const Plan& plan) {
  std::vector<double> work(static_cast<std::size_t>(instance.cluster.num_devices()), 0.0);
  const auto micro_batches = static_cast<double>(plan.micro_batches);
  for (const Stage& stage : plan.stages) {
    const StageParts parts(stage);
    for (const StagePart& part : parts.all()) {
      std::map<std::pair<int, double>, double> known;  // by kind and samples
      for (int j = 0; j < part.mesh->replicas; ++j) {
        for (int k = 0; k < part.mesh->tensor_parallel; ++k) {
          const MemberWork own = member_work(part, j, k);
          const DeviceId device = part.mesh->devices[j][k];
          const int kind = instance.cluster.kind_index_of(device);
          const auto [entry, is_new] = known.try_emplace({kind, own.samples}, 0.0);
          if (is_new) entry->second = part_work(instance, part, kind, own.samples);
          work[device.index()] += micro_batches * own.load * entry->second;
        }
      }
    }
    std::map<int, double> updates;  // by kind
    for (const auto& row : stage.devices) {
      for (const DeviceId device : row) {
        const auto [entry, is_new] =
            updates.try_emplace(instance.cluster.kind_index_of(device), 0.0);
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
  const std::vector<DeviceMessages> sent = device_messages(instance, plan);
  std::vector<double> nodes(static_cast<std::size_t>(cluster.num_nodes()), 0.0);
  for (int d = 0; d < cluster.num_devices(); ++d) {
    const DeviceId device(d);
    const NodeGroup& group = cluster.groups[cluster.group_of(device)];
    double seconds = work[device.index()];
    if (group.shares_cores()) seconds += sending_seconds(group, sent[device.index()]);
    nodes[cluster.node_of(device)] += seconds;
  }
  return nodes;
}

}  // namespace pptrain
