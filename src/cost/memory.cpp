#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/names.hpp"
#include "base/units.hpp"
#include "cost/overrun.hpp"
#include "cost/replica_sum.hpp"
#include "cost/stage_time.hpp"
#include "cost/state_bytes.hpp"

namespace pptrain {
namespace {

/// Adds the model state and the activations of a part to its devices.
void add_part(const Profile& profile, const StagePart& part, double in_flight,
              std::vector<double>& need) {
  const Stage& mesh = *part.mesh;
  double parameters = 0.0;
  double stored = 0.0;
  for (const Interval& layers : part.layers) {
    parameters += parameters_of(profile, layers);
    for (std::int64_t l = layers.begin; l < layers.end; ++l)
      stored += stored_bytes_of(profile, l, mesh.recompute);
  }
  for (int j = 0; j < mesh.replicas; ++j) {
    const double model = bytes_per_parameter(profile.bytes_per_parameter, mesh, mesh.slices_of(j)) *
                         parameters / mesh.tensor_parallel;
    const double held = mesh.offload_activations ? 0.0 : in_flight;
    for (int k = 0; k < mesh.tensor_parallel; ++k) {
      const double activations = member_work(part, j, k).samples * (held * stored);
      need[mesh.devices[j][k].index()] += member_load(mesh, k) * model + activations;
    }
  }
}

/// Adds the workspace once to each device, for the part in which it has most samples.
void add_workspace(const Profile& profile, const StageParts& parts, std::vector<double>& need) {
  std::map<DeviceId, double> samples;
  for (const StagePart& part : parts.all()) {
    for (int j = 0; j < part.mesh->replicas; ++j) {
      for (int k = 0; k < part.mesh->tensor_parallel; ++k) {
        double& most = samples[part.mesh->devices[j][k]];
        most = std::max(most, member_work(part, j, k).samples);
      }
    }
  }
  for (const auto& [device, most] : samples) {
    need[device.index()] += most * profile.workspace_bytes_per_sample + profile.workspace_bytes;
  }
}

/// Bytes on each device of the cluster with `in_flight(stage)` micro-batches stored.
template <class InFlight>
std::vector<double> need_of(const Instance& instance, const Plan& plan, Workspace workspace,
                            const InFlight& in_flight) {
  const Profile& profile = instance.profile;
  std::vector<double> need(static_cast<std::size_t>(instance.cluster.num_devices()), 0.0);
  for (int i = 0; i < plan.num_stages(); ++i) {
    const StageParts parts(plan.stages[i]);
    const auto stored = static_cast<double>(in_flight(StageId(i)));
    for (const StagePart& part : parts.all()) add_part(profile, part, stored, need);
    if (workspace == Workspace::counted) add_workspace(profile, parts, need);
  }
  return need;
}

}  // namespace

double bytes_per_parameter(const BytesPerParameter& bytes, const Stage& mesh, double sharers) {
  return state_bytes_per_parameter(bytes, mesh, sharers).sum();
}

double bytes_per_parameter(const BytesPerParameter& bytes, const Stage& mesh) {
  return bytes_per_parameter(bytes, mesh, least_sharers(mesh));
}

double stored_bytes_of(const Profile& profile, std::int64_t layer, Recompute recompute) {
  const double stored = profile.layers[layer].stored_bytes;
  if (recompute != Recompute::full || !profile.layers[layer].repeated) return stored;
  return layer == 0 ? 0.0 : std::min(stored, profile.layers[layer - 1].output_bytes);
}

std::int64_t micro_batches_in_flight(const Plan& plan, StageId stage) {
  const ScheduleChoice& schedule = plan.schedule;
  return most_stored(schedule_kind(schedule.name),
                     {plan.num_stages(), plan.num_stages() - stage.value, schedule.virtual_stages,
                      plan.micro_batches, schedule.unit});
}

std::vector<double> memory_bytes(const Instance& instance, const Plan& plan) {
  return need_of(instance, plan, Workspace::counted,
                 [&plan](StageId stage) { return micro_batches_in_flight(plan, stage); });
}

std::vector<double> fixed_bytes(const Instance& instance, const Plan& plan, Workspace workspace) {
  return need_of(instance, plan, workspace, [](StageId) { return 0; });
}

std::string why_not_fit(const Instance& instance, const Plan& plan) {
  return largest_overrun(instance.cluster, memory_bytes(instance, plan));
}

DeviceId most_overrun(const Cluster& cluster, const std::vector<double>& need) {
  DeviceId worst;
  double excess = 0.0;
  for (int d = 0; d < cluster.num_devices(); ++d) {
    const double over = need[d] - cluster.kind_of(DeviceId(d)).memory;
    if (over <= excess) continue;
    excess = over;
    worst = DeviceId(d);
  }
  return worst;
}

std::string largest_overrun(const Cluster& cluster, const std::vector<double>& need) {
  const DeviceId worst = most_overrun(cluster, need);
  return worst.valid() ? overrun_text(cluster, worst, need[worst.index()]) : "";
}

std::string overrun_by_parts(const Instance& instance, const Plan& plan, DeviceId device,
                             double need) {
  const StateBytes state = state_bytes(instance, plan)[device.index()];
  const double without_workspace = need_of(
      instance, plan, Workspace::left_out,
      [&plan](StageId stage) { return micro_batches_in_flight(plan, stage); })[device.index()];
  std::vector<std::string> texts;
  const auto add = [&](const char* name, double bytes) {
    if (bytes >= 0.001 * need) texts.push_back(fmt::format("{} {}", name, format_bytes(bytes)));
  };
  add("weights", state.weights);
  add("gradients", state.gradients);
  add("optimizer state", state.optimizer);
  add("activations", without_workspace - state.sum());
  add("for a moment", need - without_workspace);
  return overrun_text(instance.cluster, device, need) + ": " + join(texts);
}

std::string overrun_by_parts(const Instance& instance, const Plan& plan,
                             const std::vector<double>& need) {
  const DeviceId worst = most_overrun(instance.cluster, need);
  return worst.valid() ? overrun_by_parts(instance, plan, worst, need[worst.index()]) : "";
}

std::string overrun_text(const Cluster& cluster, DeviceId device, double need) {
  const DeviceKind& kind = cluster.kind_of(device);
  const double reserve = kind.reserve.value_or(0.0);
  return fmt::format(
      "device {} ({}) needs {} of its {}{}, {} too much", device.value, kind.name,
      format_bytes(need), format_bytes(kind.memory),
      reserve > 0.0 ? fmt::format(" beside a reserve of {}", format_bytes(reserve)) : "",
      format_bytes(need - kind.memory));
}

}  // namespace pptrain
