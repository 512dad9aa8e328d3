#include <algorithm>

#include "planners/reference/cost.hpp"
#include "planners/reference/stages.hpp"

namespace pptrain::reference {

namespace {

/// Micro-batches whose activations stage `i` of `stages` holds.
double in_flight(const Plan& plan, int i) {
  const double stages = plan.num_stages();
  const double batches = static_cast<double>(plan.micro_batches);
  if (plan.schedule.name == "1f1b") return std::min(stages - i, batches);
  return batches;
}

/// Weights, gradients and optimizer state of a part on a device of a replica with an even shard.
double state_bytes(const Profile& profile, const Stage& stage, const Part& part, int replica) {
  const BytesPerParameter& bytes = profile.bytes_per_parameter;
  const double replicas = part.sharers(replica);
  const double weight = bytes.weight / (stage.zero_stage >= 3 ? replicas : 1.0);
  const double gradient = bytes.gradient / (stage.zero_stage >= 2 ? replicas : 1.0);
  const double optimizer =
      stage.offload ? 0.0 : bytes.optimizer / (stage.zero_stage >= 1 ? replicas : 1.0);
  return sum_over_layers(part.layers, [&](int layer) {
    return (weight + gradient + optimizer) * profile.layers[layer].parameters / part.degree();
  });
}

/// What one sample of one micro-batch leaves behind in a part.
double stored_bytes(const Profile& profile, const Stage& stage, const Part& part) {
  if (stage.offload_activations) return 0.0;
  return sum_over_layers(part.layers, [&](int layer) {
    const double whole = profile.layers[layer].stored_bytes;
    if (stage.recompute != Recompute::full) return whole;
    // The input is among what is stored; that of layer 0 is no output of a layer.
    return layer == 0 ? 0.0 : std::min(whole, profile.layers[layer - 1].output_bytes);
  });
}

}  // namespace

std::vector<double> memory(const Profile& profile, const Cluster& cluster, const Plan& plan) {
  std::vector<double> need(cluster.num_devices(), 0.0);
  for (int i = 0; i < plan.num_stages(); ++i) {
    const Stage& stage = plan.stages[i];
    for (const Part& part : parts_of(stage)) {
      for (int j = 0; j < part.num_replicas(); ++j) {
        const double stored =
            in_flight(plan, i) * part.num_samples(j) * stored_bytes(profile, stage, part);
        for (int k = 0; k < part.degree(); ++k) {
          need[part.devices[j][k].index()] +=
              part.loads[k] * state_bytes(profile, stage, part, j) + stored;
        }
      }
    }
  }
  return need;
}

bool fits(const Profile& profile, const Cluster& cluster, const Plan& plan) {
  const std::vector<double> need = memory(profile, cluster, plan);
  for (int d = 0; d < cluster.num_devices(); ++d) {
    if (need[d] > cluster.kind_of(DeviceId(d)).memory) return false;
  }
  return true;
}

}  // namespace pptrain::reference
