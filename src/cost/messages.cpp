#include "cost/messages.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "cost/collective.hpp"
#include "cost/stage_time.hpp"

namespace pptrain {
namespace {

/// Bytes that a member of a ring all-reduce sends.
double ring_bytes(int n, double bytes) { return 2.0 * (n - 1) / n * bytes; }

/// All-reduces in F and B together of a layer that is divided over a tensor-parallel group. They
/// carry activations as large as the layer's outputs, or where it has none as its inputs, so that
/// their bytes say how many there are.
double num_all_reduces(const Profile& profile, int layer) {
  const ProfileLayer& itself = profile.layers[layer];
  const double bytes = itself.tensor_parallel_allreduce_bytes;
  if (bytes == 0.0) return 0.0;
  const double carried = itself.output_bytes > 0.0 || layer == 0
                             ? itself.output_bytes
                             : profile.layers[layer - 1].output_bytes;
  const double sums = carried > 0.0 ? std::max(1.0, std::round(2.0 * bytes / carried)) : 2.0;
  // The loss over a divided vocabulary: the largest and the sum of each row, which are short, in
  // one step each.
  return layer + 1 == profile.num_layers() ? sums + 1.0 : sums;
}

/// Steps of the collectives of a layer's F and B in which everyone sends to everyone.
TensorSeconds collective_steps(const Profile& profile, int layer, int n, TensorPattern pattern) {
  if (pattern == TensorPattern::megatron) {
    const double each = num_all_reduces(profile, layer);  // of two steps, half of them in F
    return {each, each};
  }
  if (pattern == TensorPattern::all_to_all) return exchange_steps;
  // At one second of latency and no bytes the formulas count messages.
  const Link messages_only = {std::numeric_limits<double>::infinity(), 1.0};
  const TensorSeconds messages = tensor_seconds(profile, messages_only, layer, n, 1.0, pattern);
  return {messages.forward / (n - 1), messages.backward / (n - 1)};
}

class MessageCount {
 public:
  MessageCount(const Instance& instance, const Plan& plan)
      : instance_(instance),
        plan_(plan),
        sent_(static_cast<std::size_t>(instance.cluster.num_devices())) {
    for (const Stage& stage : plan.stages) {
      const StageParts parts(stage);
      for (const StagePart& part : parts.all()) {
        add_gradients(part);
        add_batch_norms(part);
        add_tensor(part);
      }
      for (const StageParts::Boundary& boundary : parts.boundaries()) add_repartition(boundary);
    }
    add_sums_of_all();
    const std::vector<Chunk> chunks = chunks_in_order(plan);
    for (std::size_t c = 1; c < chunks.size(); ++c) {
      const StageParts sender(plan.stages[chunks[c - 1].stage], {chunks[c - 1].layers});
      const StageParts receiver(plan.stages[chunks[c].stage], {chunks[c].layers});
      add_cut(sender.last_mesh(), receiver.first_mesh(), chunks[c].layers.begin - 1);
    }
  }
  std::vector<DeviceMessages> take() { return std::move(sent_); }

 private:
  double micro_batches() const { return static_cast<double>(plan_.micro_batches); }

  void add(DeviceId device, const DeviceMessages& more) {
    DeviceMessages& sent = sent_[device.index()];
    sent.bytes += more.bytes;
    sent.messages += more.messages;
    sent.waits += more.waits;
  }

  /// The loss and the gradient norm: each sends its own to everyone and waits.
  void add_sums_of_all() {
    const auto others = static_cast<double>(sent_.size()) - 1.0;
    if (others == 0.0) return;
    for (DeviceMessages& sent : sent_) {
      sent.messages += 2.0 * others;
      sent.waits += 2.0;
    }
  }

  /// The gradient all-reduce and, with ZeRO stage 3, gathering the weights before F and before B.
  void add_gradients(const StagePart& part) {
    const Stage& mesh = *part.mesh;
    double parameters = 0.0;
    for (const Interval& layers : part.layers)
      parameters += parameters_of(instance_.profile, layers);
    const BytesPerParameter& per_parameter = instance_.profile.bytes_per_parameter;
    const double gradients = per_parameter.sent() * parameters / mesh.tensor_parallel;
    const double gathers = mesh.zero_stage >= 3 ? micro_batches() : 0.0;  // of F and B: an
                                                                          // all-reduce's volume
    const double weights = per_parameter.weight * parameters / mesh.tensor_parallel;
    const auto groups = static_cast<int>(mesh.sharding_groups().size());
    for (int j = 0; j < mesh.replicas; ++j) {
      const auto sharers = static_cast<int>(mesh.sharding_group_of(j).size());
      // A replica sends all slices but its own once, and its own to all others.
      const double within =
          (gradients + gathers * weights) * (1.0 + (sharers - 2) / mesh.slices_of(j));
      const double bytes = within + ring_bytes(groups, gradients / sharers);
      const auto chunks = static_cast<double>(part.layers.size());  // each sums for itself
      const double messages =
          2.0 * (sharers - 1) * (chunks + gathers) + 2.0 * (groups - 1) * chunks;
      const double waits =
          (sharers > 1 ? 2.0 * (chunks + gathers) : 0.0) + (groups > 1 ? 2.0 * chunks : 0.0);
      for (int k = 0; k < mesh.tensor_parallel; ++k) {
        add(mesh.devices[j][k], {member_load(mesh, k) * bytes, messages, waits});
      }
    }
  }

  /// Everyone sends to everyone, in one step each of F and of B.
  void add_batch_norms(const StagePart& part) {
    const Stage& mesh = *part.mesh;
    const auto others = static_cast<double>(mesh.replicas - 1);
    if (others == 0.0) return;
    double steps = 0.0;
    double channels = 0.0;
    for (const Interval& layers : part.layers) {
      for (std::int64_t layer = layers.begin; layer < layers.end; ++layer) {
        const ProfileLayer& itself = instance_.profile.layers[layer];
        const double passes = itself.sums_again(mesh.recompute) ? 3.0 : 2.0;
        steps += passes * itself.batch_norms;
        channels += passes * itself.batch_norm_channels;
      }
    }
    const double bytes = 2.0 * sizeof(float) * channels * others;
    for (const auto& row : mesh.devices) {
      for (const DeviceId device : row) {
        add(device,
            {micro_batches() * bytes, micro_batches() * steps * others, micro_batches() * steps});
      }
    }
  }

  void add_tensor(const StagePart& part) {
    const Stage& mesh = *part.mesh;
    const int n = mesh.tensor_parallel;
    if (n == 1) return;
    const Link bytes_only = {1.0, 0.0};  // at one byte per second the collectives' formulas count
                                         // bytes
    for (int j = 0; j < mesh.replicas; ++j) {
      const auto samples = static_cast<double>(mesh.samples[j].size());
      double bytes = 0.0;
      double steps = 0.0;
      for (const Interval& layers : part.layers) {
        for (std::int64_t layer = layers.begin; layer < layers.end; ++layer) {
          const auto l = static_cast<int>(layer);
          const bool again = instance_.profile.layers[l].sums_again(mesh.recompute);
          const double forwards = again ? 2.0 : 1.0;
          const TensorSeconds sent = sent_bytes(part.pattern, bytes_only, l, n, samples);
          const TensorSeconds done = collective_steps(instance_.profile, l, n, part.pattern);
          bytes += forwards * sent.forward + sent.backward;
          steps += forwards * done.forward + done.backward;
        }
      }
      for (const DeviceId device : mesh.devices[j]) {
        add(device,
            {micro_batches() * bytes, micro_batches() * steps * (n - 1), micro_batches() * steps});
      }
    }
  }

  TensorSeconds sent_bytes(TensorPattern pattern, const Link& bytes_only, int layer, int n,
                           double samples) const {
    if (pattern != TensorPattern::all_to_all)
      return tensor_seconds(instance_.profile, bytes_only, layer, n, samples, pattern);
    const double bytes =
        instance_.profile.layers[static_cast<std::size_t>(layer)].exchange_bytes * samples / n;
    const double sent = all_to_all_seconds(bytes_only, n, bytes);
    return {sent, sent};
  }

  /// What each device lacks of the activations, and of their gradients; it is counted where it
  /// arrives.
  void add_repartition(const StageParts::Boundary& boundary) {
    const double bytes_per_sample =
        instance_.profile.layers[boundary.layer - 1].output_bytes * micro_batches();
    const int devices = boundary.before->replicas * boundary.before->tensor_parallel;
    const auto at = [](const Mesh& mesh, int d) {
      return std::pair(mesh.samples[d / mesh.tensor_parallel],
                       mesh.devices[d / mesh.tensor_parallel][d % mesh.tensor_parallel]);
    };
    for (int d = 0; d < devices; ++d) {
      const auto [before, device] = at(*boundary.before, d);
      const Interval after = at(*boundary.after, d).first;
      const std::int64_t common = intersect(before, after).size();
      for (const std::int64_t missing : {after.size() - common, before.size() - common}) {
        if (missing > 0) {
          add(device,
              {static_cast<double>(missing) * bytes_per_sample, micro_batches(), micro_batches()});
        }
      }
    }
  }

  void add_cut(const Mesh& sender, const Mesh& receiver, std::int64_t layer) {
    const double bytes_per_sample = instance_.profile.layers[layer].output_bytes * micro_batches();
    for_each_pair(sender, receiver, [&](DeviceId a, DeviceId b, double samples) {
      // Activations one way, their gradients the other: each sends and waits once.
      add(a, {samples * bytes_per_sample, micro_batches(), micro_batches()});
      add(b, {samples * bytes_per_sample, micro_batches(), micro_batches()});
    });
  }

  const Instance& instance_;
  const Plan& plan_;
  std::vector<DeviceMessages> sent_;
};

}  // namespace

std::vector<DeviceMessages> device_messages(const Instance& instance, const Plan& plan) {
  return MessageCount(instance, plan).take();
}

}  // namespace pptrain
