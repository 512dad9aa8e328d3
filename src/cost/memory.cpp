#include <fmt/format.h>

#include <algorithm>

#include "base/units.hpp"
#include "cost/stage_time.hpp"

namespace pptrain {
namespace {

/// Bytes of weights, gradients and optimizer state per parameter on one device (ZeRO, stages 1-3).
double bytes_per_parameter(const BytesPerParameter& bytes, const Stage& stage) {
  const double replicas = stage.replicas;
  return bytes.weight / (stage.zero_stage >= 3 ? replicas : 1.0) +
         bytes.gradient / (stage.zero_stage >= 2 ? replicas : 1.0) +
         bytes.optimizer / (stage.zero_stage >= 1 ? replicas : 1.0);
}

}  // namespace

double stored_bytes_of(const Profile& profile, std::int64_t layer, Recompute recompute) {
  const double stored = profile.layers[layer].stored_bytes;
  if (recompute != Recompute::full) return stored;
  return layer == 0 ? 0.0 : std::min(stored, profile.layers[layer - 1].output_bytes);
}

std::int64_t micro_batches_in_flight(const Plan& plan, StageId stage) {
  const std::int64_t distance = plan.num_stages() - stage.value;
  const std::string& schedule = plan.schedule.name;
  if (schedule == "1f1b" || schedule == "zb-h1") return std::min(distance, plan.micro_batches);
  if (schedule == "dapple-b" || schedule == "zb-h2") return std::min(2 * distance - 1, plan.micro_batches);
  return plan.micro_batches;
}

std::vector<double> memory_bytes(const Instance& instance, const Plan& plan) {
  std::vector<double> need(static_cast<std::size_t>(instance.cluster.num_devices()), 0.0);
  for (int i = 0; i < plan.num_stages(); ++i) {
    const Stage& stage = plan.stages[i];
    double parameters = 0.0;
    double stored = 0.0;
    for (const Interval& layers : stage.layers) {
      parameters += parameters_of(instance.profile, layers);
      for (std::int64_t l = layers.begin; l < layers.end; ++l) {
        stored += stored_bytes_of(instance.profile, l, stage.recompute);
      }
    }
    const double model =
        bytes_per_parameter(instance.profile.bytes_per_parameter, stage) * parameters / stage.tensor_parallel;
    const auto in_flight = static_cast<double>(micro_batches_in_flight(plan, StageId(i)));
    for (int j = 0; j < stage.replicas; ++j) {
      const double activations = static_cast<double>(stage.samples[j].size()) *
                                 (in_flight * stored + instance.profile.workspace_bytes_per_sample);
      for (const DeviceId device : stage.devices[j]) {
        need[device.index()] = model + activations + instance.profile.workspace_bytes;
      }
    }
  }
  return need;
}

std::string why_not_fit(const Instance& instance, const Plan& plan) {
  const std::vector<double> need = memory_bytes(instance, plan);
  DeviceId worst;
  double excess = 0.0;
  for (int d = 0; d < instance.cluster.num_devices(); ++d) {
    const double over = need[d] - instance.cluster.kind_of(DeviceId(d)).memory;
    if (over <= excess) continue;
    excess = over;
    worst = DeviceId(d);
  }
  if (!worst.valid()) return "";
  const DeviceKind& kind = instance.cluster.kind_of(worst);
  return fmt::format("device {} ({}) needs {} of its {}, {} too much", worst.value, kind.name,
                     format_bytes(need[worst.index()]), format_bytes(kind.memory), format_bytes(excess));
}

}  // namespace pptrain
