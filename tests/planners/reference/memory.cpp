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

}  // namespace

std::vector<double> memory(const Profile& profile, const Cluster& cluster, const Plan& plan) {
  std::vector<double> need(cluster.num_devices(), 0.0);
  const BytesPerParameter& bytes = profile.bytes_per_parameter;
  for (int i = 0; i < plan.num_stages(); ++i) {
    const Stage& stage = plan.stages[i];
    const double weight = bytes.weight / (stage.zero_stage >= 3 ? stage.replicas : 1);
    const double gradient = bytes.gradient / (stage.zero_stage >= 2 ? stage.replicas : 1);
    const double optimizer = bytes.optimizer / (stage.zero_stage >= 1 ? stage.replicas : 1);
    const double state = sum_over_layers(stage, [&](int layer) {
      return (weight + gradient + optimizer) * profile.layers[layer].parameters / stage.tensor_parallel;
    });
    const double stored = sum_over_layers(stage, [&](int layer) {
      const double whole = profile.layers[layer].stored_bytes;
      if (stage.recompute != Recompute::full) return whole;
      // The input is among what is stored; that of layer 0 is no output of a layer.
      return layer == 0 ? 0.0 : std::min(whole, profile.layers[layer - 1].output_bytes);
    });
    for (int j = 0; j < stage.replicas; ++j) {
      for (const DeviceId device : stage.devices[j]) {
        need[device.index()] = state + in_flight(plan, i) * samples_of(stage, j) * stored;
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
