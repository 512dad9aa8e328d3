#include "runtime/profiler.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "comm/collective.hpp"
#include "comm/mpi.hpp"
#include "planners/grids/grid.hpp"
#include "planners/restrictions.hpp"
#include "profile/analytic.hpp"
#include "runtime/gradient_reduction.hpp"
#include "runtime/layer_timer.hpp"

namespace pptrain {
namespace {

/// Rising sample counts stop once a pass takes this long: beyond, time is proportional.
constexpr double long_pass_seconds = 0.4;

/// Contributions of all members to the slices of the buckets under way (src/comm/ordered_all_reduce.hpp).
constexpr double gradient_buffer_bytes =
    4.0 * GradientReduction::bucket_elements * GradientReduction::buckets_in_flight;

/// A layer that stands for all of its kind, at one degree, on one device kind.
struct TimingTask {
  std::string device_kind;
  LayerKind layer_kind;
  int layer = 0;
  int tensor_parallel = 1;
};

/// Degrees that an even grid of these ranks can have and the model admits.
std::vector<int> degrees(const Config& config, const Model& model, int num_devices) {
  if (config.parallelism.tensor && *config.parallelism.tensor == 1) return {1};
  if (config.parallelism.tensor) return {1, static_cast<int>(*config.parallelism.tensor)};
  std::vector<int> result;
  for (int n = 1; n <= num_devices; ++n) {
    if (num_devices % n == 0 && model.divided_units() % n == 0) result.push_back(n);
  }
  return result;
}

std::vector<TimingTask> timing_tasks(const Config& config, const Model& model, const Cluster& cluster) {
  std::vector<TimingTask> tasks;
  std::set<std::string> used;
  for (const NodeGroup& group : cluster.groups) used.insert(group.device_kind);
  const std::vector<int> all_degrees = degrees(config, model, cluster.num_devices());
  for (const std::string& device : used) {
    std::set<LayerKind> seen;
    for (int l = 0; l < model.num_layers(); ++l) {
      if (!seen.insert(model.layers[l].kind).second) continue;
      for (const int n : all_degrees) tasks.push_back({device, model.layers[l].kind, l, n});
    }
  }
  // The largest take longest; dealt out first they keep the ranks evenly busy.
  std::stable_sort(tasks.begin(), tasks.end(), [&](const TimingTask& a, const TimingTask& b) {
    return model.layers[a.layer].flop_forward > model.layers[b.layer].flop_forward;
  });
  return tasks;
}

/// Ranks that time: of each node as many as it has cores.
std::map<std::string, std::vector<RankId>> timing_ranks(const Cluster& cluster, const RankMap& map) {
  std::map<std::string, std::vector<RankId>> ranks;
  for (int node = 0; node < cluster.num_nodes(); ++node) {
    const NodeGroup& group = cluster.group_of_node(node);
    std::vector<DeviceId> devices = cluster.devices_of_node(node);
    if (group.cores > 0 && group.cores < static_cast<int>(devices.size())) devices.resize(group.cores);
    for (const DeviceId device : devices) ranks[group.device_kind].push_back(map.rank_of(device));
  }
  return ranks;
}

nlohmann::json run_task(const Config& config, const Model& model, const TimingTask& task) {
  nlohmann::json rows = nlohmann::json::array();
  double update = 0.0;
  double workspace = 0.0;
  const std::int64_t most = config.training.global_batch_size;
  for (std::int64_t samples = 1; samples <= most; samples = samples < most ? std::min(2 * samples, most) : most + 1) {
    const LayerTiming timing = time_layer(config, model, model.layers[task.layer], task.tensor_parallel, samples);
    rows.push_back({samples, timing.seconds.forward, timing.seconds.backward_input, timing.seconds.backward_weight,
                    timing.bytes.stored, timing.bytes.deferred, timing.bytes.workspace});
    update = timing.update_seconds;
    workspace = timing.bytes.workspace / static_cast<double>(samples);  // that of the largest micro-batch
    if (timing.seconds.total() > long_pass_seconds) break;
  }
  return {{"device", task.device_kind},
          {"kind", static_cast<int>(task.layer_kind)},
          {"degree", task.tensor_parallel},
          {"rows", rows},
          {"update", update},
          {"workspace", workspace}};
}

void add_results(Profile& profile, const Model& model, const nlohmann::json& results) {
  for (const auto& result : results) {
    const auto kind = static_cast<LayerKind>(result.at("kind").get<int>());
    const std::string device = result.at("device");
    const int degree = result.at("degree");
    profile.workspace_bytes_per_sample =
        std::max(profile.workspace_bytes_per_sample, result.at("workspace").get<double>());
    for (int l = 0; l < model.num_layers(); ++l) {
      if (model.layers[l].kind != kind) continue;
      for (const auto& row : result.at("rows")) {
        const LayerBytes bytes = {row.at(4), row.at(5), row.at(6)};
        profile.layers[l].rows.push_back({device, degree, row.at(0), {row.at(1), row.at(2), row.at(3)}, true, bytes});
      }
      profile.layers[l].update_seconds[{device, degree}] = result.at("update");
    }
  }
}

}  // namespace

Profile layer_sizes(const Config& config, const Model& model) {
  Profile profile;
  profile.model = model.name;
  profile.bytes_per_parameter = bytes_per_parameter(config);
  profile.axes = axes_of(model);
  for (const Layer& layer : model.layers) {
    ProfileLayer sizes;
    sizes.name = layer.name;
    sizes.parameters = static_cast<double>(layer.num_parameters());
    sizes.output_bytes = layer.output_bytes;
    sizes.stored_bytes = layer.stored_bytes;
    sizes.tensor_parallel_allreduce_bytes = layer.tensor_parallel_allreduce_bytes;
    profile.layers.push_back(sizes);
  }
  return profile;
}

void check_parallelism(const Config& config, const Model& model, const Cluster& cluster) {
  if (!config.parallelism.plan.empty()) return;
  Profile profile = layer_sizes(config, model);
  for (ProfileLayer& layer : profile.layers) {
    for (const DeviceKind& kind : cluster.device_kinds) {
      for (const int n : degrees(config, model, cluster.num_devices())) {
        if (model.divided_units() % n == 0) layer.rows.push_back({kind.name, n, 1.0, {}, true});
      }
    }
  }
  check_restrictions({profile, cluster, config.training.global_batch_size}, restrictions_of(config), config.source,
                     PlanScope::uniform);
}

Profile measure_profile(MPI_Comm world, Waiter& waiter, const Config& config, const Model& model,
                        const Cluster& cluster, const RankMap& map, const ProfileProgress& progress) {
  const int rank = rank_in(world);
  const std::vector<TimingTask> tasks = timing_tasks(config, model, cluster);
  const auto ranks = timing_ranks(cluster, map);
  std::map<std::string, std::size_t> dealt;
  nlohmann::json mine = nlohmann::json::array();
  std::vector<const TimingTask*> own;
  for (const TimingTask& task : tasks) {
    const std::vector<RankId>& of_kind = ranks.at(task.device_kind);
    if (of_kind[dealt[task.device_kind]++ % of_kind.size()].value == rank) own.push_back(&task);
  }
  collectively(world, waiter, [&] {
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (rank == 0) progress(static_cast<int>(i), static_cast<int>(own.size()));
      mine.push_back(run_task(config, model, *own[i]));
    }
    if (rank == 0) progress(static_cast<int>(own.size()), static_cast<int>(own.size()));
  });
  Profile profile = layer_sizes(config, model);
  profile.workspace_bytes = gradient_buffer_bytes;
  for (const std::string& results : gather(world, mine.dump()))
    add_results(profile, model, nlohmann::json::parse(results));
  // Two micro-batches that are being received and two that are being sent.
  profile.workspace_bytes_per_sample += 4.0 * model.layers.front().output_bytes;
  return parse_profile(broadcast(world, rank == 0 ? write_profile(profile) : "", waiter), "the measured profile");
}

}  // namespace pptrain
