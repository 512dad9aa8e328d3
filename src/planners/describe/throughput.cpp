#include "planners/describe/throughput.hpp"

#include <algorithm>
#include <numeric>

#include "cluster/peak_rate.hpp"
#include "config/published_models.hpp"
#include "cost/stage_time.hpp"
#include "cost/transfer_forms.hpp"
#include "model/model.hpp"
#include "plan/used_devices.hpp"
#include "planners/judge/planned_orders.hpp"
#include "profile/graded.hpp"
#include "simulate/training_simulation.hpp"

namespace pptrain {
namespace {

/// What a device of the cluster does in an iteration.
struct UseOfDevice {
  bool used = false;
  double busy_seconds = 0.0;
  double waiting_seconds = 0.0;
  double flop = 0.0;  ///< FLOP of the model
};

/// The configuration's model, where its layers are those of the profile.
std::optional<Model> profiled_model(const Config& config, const Profile& profile) {
  if (!config.can_train_model()) return {};
  Model model = build_model(config.model, config.training, config.source);
  // Outputs tell samples of other lengths apart; pptrain sends them in fp32, other runtimes as they
  // compute.
  const double stream = profile.like.empty() ? 1.0 : element_bytes(config.training.precision) / 4.0;
  const auto replicas = static_cast<double>(profile.context);
  const bool same = std::equal(model.layers.begin(), model.layers.end(), profile.layers.begin(),
                               profile.layers.end(), [&](const Layer& a, const ProfileLayer& b) {
                                 return a.name == b.name &&
                                        static_cast<double>(a.num_parameters()) == b.parameters &&
                                        stream * a.output_bytes / replicas == b.output_bytes;
                               });
  return same ? std::optional(std::move(model)) : std::nullopt;
}

/// Tokens of a sample of a model of which only the times are known.
std::optional<double> said_tokens(const Config& config, const Profile& profile) {
  if (config.places.contains("training.sequence_length"))
    return static_cast<double>(config.rows_per_sample());
  const PublishedModel* published = published_model(profile.model);
  if (published == nullptr || published->tokens == 0) return {};
  return static_cast<double>(published->tokens + published->source_tokens);
}

/// Adds what the simulator says, or for a plan that is too large for it what the layers' times say.
void add_seconds(const Instance& instance, const Plan& plan, std::vector<UseOfDevice>& uses) {
  if (plan.predicted->basis != PredictionBasis::simulation) {
    const std::vector<double> busy = device_work_seconds(instance, plan);
    for (std::size_t d = 0; d < uses.size(); ++d) uses[d].busy_seconds = busy[d];
    return;
  }
  const TrainingSimulation simulation(instance, plan,
                                      {instance.ties, cheapest_forms(instance, plan)});
  for (const SimulatedDevice& device :
       simulation.run(task_orders(plan, planned_order_options(instance, plan))).devices) {
    uses[device.device.index()].busy_seconds = device.busy_seconds;
    uses[device.device.index()].waiting_seconds = device.communication_seconds;
  }
}

/// Shares out the FLOP of an iteration as devices compute samples and parts of layers.
void add_flop(const ModelWork& work, const Plan& plan, std::vector<UseOfDevice>& uses) {
  if (work.layer_flop.empty()) return;
  double shared_out = 0.0;
  for (const Stage& stage : plan.stages) {
    const StageParts parts(stage);
    for (const StagePart& part : parts.all()) {
      double flop = 0.0;
      for (const Interval& layers : part.layers) {
        for (std::int64_t l = layers.begin; l < layers.end; ++l)
          flop += work.layer_flop[static_cast<std::size_t>(l)];
      }
      for (int j = 0; j < part.mesh->replicas; ++j) {
        for (int k = 0; k < part.mesh->tensor_parallel; ++k) {
          const MemberWork member = member_work(part, j, k);
          const double own = flop * member.samples * member.load / part.computed_degree();
          uses[part.mesh->devices[j][k].index()].flop += own;
          shared_out += own;
        }
      }
    }
  }
  const double whole = std::accumulate(work.layer_flop.begin(), work.layer_flop.end(), 0.0) *
                       static_cast<double>(plan.samples_per_step());
  for (UseOfDevice& use : uses) use.flop *= shared_out > 0.0 ? whole / shared_out : 0.0;
}

/// The part of a peak that is reached; nothing where no peak is known, or more than it is reached,
/// so that it is none.
std::optional<double> part_of_peak(double flop_per_second, double peak) {
  if (peak <= 0.0 || flop_per_second > peak) return {};
  return flop_per_second / peak;
}

/// Sums over the devices of a kind, or of all kinds.
struct UseSums {
  int devices = 0;
  int used = 0;
  bool knows_peak = true;
  double busy_seconds = 0.0;
  double waiting_seconds = 0.0;
  double flop = 0.0;
  double peak = 0.0;  ///< FLOP per second of the used devices

  void add(const UseOfDevice& use, double peak_of_device) {
    ++devices;
    if (!use.used) return;
    ++used;
    busy_seconds += use.busy_seconds;
    waiting_seconds += use.waiting_seconds;
    flop += use.flop;
    peak += peak_of_device;
    knows_peak = knows_peak && peak_of_device > 0.0;
  }
};

KindPrediction prediction_of(const DeviceKind& kind, const UseSums& sums, const ModelWork& work,
                             const Prediction& predicted) {
  KindPrediction result;
  result.kind = kind.name;
  result.devices = sums.devices;
  result.used = sums.used;
  result.memory_bytes = kind.memory;
  result.reserve_bytes = kind.reserve.value_or(0.0);
  const double all = sums.used * predicted.iteration_seconds;
  if (all <= 0.0) return result;
  result.computing = sums.busy_seconds / all;
  if (predicted.basis == PredictionBasis::simulation) result.waiting = sums.waiting_seconds / all;
  result.idle = std::max(0.0, 1.0 - *result.computing - result.waiting.value_or(0.0));
  if (sums.knows_peak) result.peak_flop_per_second = sums.peak / sums.used;
  if (work.layer_flop.empty()) return result;
  result.flop_per_second = sums.flop / all;
  result.utilization =
      part_of_peak(*result.flop_per_second, result.peak_flop_per_second.value_or(0.0));
  return result;
}

SpeedPrediction speed_of(const ModelWork& work, const UseSums& sums, const Plan& plan) {
  SpeedPrediction speed;
  const double seconds = plan.predicted->iteration_seconds;
  speed.samples_per_second = static_cast<double>(plan.samples_per_step()) / seconds;
  if (work.tokens_per_sample)
    speed.tokens_per_second = *work.tokens_per_sample * speed.samples_per_second;
  if (work.layer_flop.empty()) return speed;
  speed.flop_source = work.flop_source;
  speed.precision = work.precision;
  speed.flop_per_second = sums.flop / seconds / sums.used;
  if (sums.knows_peak) speed.utilization = part_of_peak(sums.flop / seconds, sums.peak);
  return speed;
}

/// The error of predictions is that of the kinds that the plan uses, where it leaves out others
/// that the profile has.
void narrow_band(const Profile& profile, Prediction& predicted) {
  std::vector<std::string> used;
  for (const KindPrediction& kind : predicted.kinds)
    if (kind.used > 0) used.push_back(kind.kind);
  const std::vector<std::string> known = runtime_names();
  const bool is_known = std::find(known.begin(), known.end(), profile.like) != known.end();
  if (!profile.error_band || !is_known || used.size() == predicted.kinds.size()) return;
  predicted.error_band = error_band_of(used, runtime_called(profile.like));
}

}  // namespace

ModelWork model_work(const Config& config, const Profile& profile) {
  ModelWork work;
  work.precision = to_string(config.training.precision);
  if (const std::optional<Model> model = profiled_model(config, profile)) {
    if (model->sample.tokens())
      work.tokens_per_sample = static_cast<double>(config.rows_per_sample());
    work.flop_source = "layers";
    for (const Layer& layer : model->layers) {
      work.layer_flop.push_back(layer.flop_forward + layer.flop_backward_input +
                                layer.flop_backward_weight);
    }
    return work;
  }
  work.tokens_per_sample = said_tokens(config, profile);
  if (!work.tokens_per_sample) return work;
  work.flop_source = "parameters";
  for (const ProfileLayer& layer : profile.layers) {
    work.layer_flop.push_back(6.0 * layer.parameters * *work.tokens_per_sample);
  }
  return work;
}

void predict_throughput(const Instance& instance, const ModelWork& work, Plan& plan,
                        std::optional<double> training_tokens) {
  const Cluster& cluster = instance.cluster;
  Prediction& predicted = *plan.predicted;
  if (predicted.iteration_seconds <= 0.0) return;
  std::vector<UseOfDevice> uses(static_cast<std::size_t>(cluster.num_devices()));
  const std::vector<bool> used = used_devices(plan, cluster.num_devices());
  for (std::size_t d = 0; d < uses.size(); ++d) uses[d].used = used[d];
  add_seconds(instance, plan, uses);
  add_flop(work, plan, uses);
  const std::vector<double> peaks = peak_flop_rates(cluster, used, work.precision);
  UseSums all;
  std::vector<UseSums> by_kind(cluster.device_kinds.size());
  for (std::size_t d = 0; d < uses.size(); ++d) {
    const int kind = cluster.kind_index_of(DeviceId(static_cast<int>(d)));
    all.add(uses[d], peaks[d]);
    by_kind[static_cast<std::size_t>(kind)].add(uses[d], peaks[d]);
  }
  predicted.speed = speed_of(work, all, plan);
  if (training_tokens && predicted.speed->tokens_per_second) {
    predicted.speed->training_tokens = training_tokens;
    predicted.speed->training_seconds = *training_tokens / *predicted.speed->tokens_per_second;
  }
  predicted.kinds.clear();
  for (std::size_t k = 0; k < by_kind.size(); ++k) {
    if (by_kind[k].devices == 0) continue;
    predicted.kinds.push_back(prediction_of(cluster.device_kinds[k], by_kind[k], work, predicted));
  }
  narrow_band(instance.profile, predicted);
}

}  // namespace pptrain
