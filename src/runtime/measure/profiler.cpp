#include "runtime/measure/profiler.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "base/names.hpp"
#include "comm/collective.hpp"
#include "comm/launcher.hpp"
#include "comm/mpi.hpp"
#include "planners/search.hpp"
#include "profile/analytic.hpp"
#include "runtime/execute/gradient_reduction.hpp"
#include "runtime/measure/layer_timer.hpp"

namespace pptrain {
namespace {

/// Rising sample counts stop once a pass takes this long: beyond, time is proportional.
constexpr double long_pass_seconds = 0.4;

/// Contributions of all members to the slices of the buckets under way
/// (src/comm/ordered_all_reduce.hpp).
constexpr double gradient_buffer_bytes =
    4.0 * GradientReduction::bucket_elements * GradientReduction::buckets_in_flight;

/// A layer that stands for all of its signature, at one degree, on one device kind.
struct TimingTask {
  std::string device_kind;
  int layer = 0;
  int tensor_parallel = 1;
};

std::vector<TimingTask> timing_tasks(const Model& model, const Cluster& cluster,
                                     const std::vector<int>& degrees) {
  std::vector<TimingTask> tasks;
  std::set<std::string> used;
  for (const NodeGroup& group : cluster.groups) used.insert(group.device_kind);
  for (const std::string& device : used) {
    std::set<std::string> seen;
    for (int l = 0; l < model.num_layers(); ++l) {
      if (!seen.insert(model.layers[l].signature).second) continue;
      for (const int n : degrees) tasks.push_back({device, l, n});
    }
  }
  // The largest take longest; dealt out first they keep the ranks evenly busy.
  std::stable_sort(tasks.begin(), tasks.end(), [&](const TimingTask& a, const TimingTask& b) {
    return model.layers[a.layer].flop_forward > model.layers[b.layer].flop_forward;
  });
  return tasks;
}

/// Ranks that time: of each node, or pool of nodes, as many as it has cores.
std::map<std::string, std::vector<RankId>> timing_ranks(const Cluster& cluster,
                                                        const RankMap& map) {
  std::map<std::string, std::vector<RankId>> ranks;
  std::map<std::string, int> busy;  // cores of each pool
  for (int node = 0; node < cluster.num_nodes(); ++node) {
    const NodeGroup& group = cluster.group_of_node(node);
    std::vector<DeviceId> devices = cluster.devices_of_node(node);
    if (group.shares_cores()) {
      const int taken = group.core_pool.empty() ? 0 : busy[group.core_pool];
      const int fewest = ranks[group.device_kind].empty() ? 1 : 0;
      devices.resize(std::clamp(group.cores - taken, fewest, group.num_devices));
      if (!group.core_pool.empty()) busy[group.core_pool] += static_cast<int>(devices.size());
    }
    for (const DeviceId device : devices) ranks[group.device_kind].push_back(map.rank_of(device));
  }
  return ranks;
}

/// `memory_bytes`: of the device.
nlohmann::json run_task(const Config& config, const Model& model, const TimingTask& task,
                        const Backend& backend, double memory_bytes) {
  nlohmann::json rows = nlohmann::json::array();
  double update = 0.0;
  double workspace = 0.0;
  double selective = 0.0;  // of the largest micro-batch
  const std::int64_t most = config.training.global_batch_size;
  for (std::int64_t samples = 1; samples <= most;
       samples = samples < most ? std::min(2 * samples, most) : most + 1) {
    const LayerTiming timing =
        time_layer(config, model, model.layers[task.layer], task.tensor_parallel, samples, backend);
    rows.push_back({samples, timing.seconds.forward, timing.seconds.backward_input,
                    timing.seconds.backward_weight, timing.bytes.stored, timing.bytes.deferred,
                    timing.bytes.workspace, timing.bytes.forward_workspace,
                    timing.bytes.recomputed});
    update = timing.update_seconds;
    selective = timing.selective_part;
    workspace = timing.bytes.workspace / static_cast<double>(samples);  // that of the largest
                                                                        // micro-batch
    const bool next_fits = 2.0 * timing.peak_bytes <= memory_bytes;
    if (timing.seconds.total() > long_pass_seconds || !next_fits) break;
  }
  return {{"device", task.device_kind},
          {"layer", task.layer},
          {"degree", task.tensor_parallel},
          {"rows", rows},
          {"update", update},
          {"workspace", workspace},
          {"selective", selective}};
}

void add_results(Profile& profile, const Model& model, const nlohmann::json& results) {
  for (const auto& result : results) {
    const std::string& signature = model.layers.at(result.at("layer").get<std::size_t>()).signature;
    const std::string device = result.at("device");
    const int degree = result.at("degree");
    profile.workspace_bytes_per_sample =
        std::max(profile.workspace_bytes_per_sample, result.at("workspace").get<double>());
    for (int l = 0; l < model.num_layers(); ++l) {
      if (model.layers[l].signature != signature) continue;
      for (const auto& row : result.at("rows")) {
        const LayerBytes bytes = {row.at(4), row.at(5), row.at(6), row.at(7), row.at(8)};
        profile.layers[l].rows.push_back(
            {device, degree, row.at(0), {row.at(1), row.at(2), row.at(3)}, true, bytes});
      }
      profile.layers[l].update_seconds[{device, degree}] = result.at("update");
      double& part = profile.layers[l].selective_part;
      if (degree == 1) part = std::max(part, result.at("selective").get<double>());
    }
  }
}

/// A grid that is fixed as a whole and leaves ranks out is a mistake, though a plan may do so.
void check_product(const Config& config, const Cluster& cluster) {
  const ParallelismConfig& p = config.parallelism;
  if (!p.data || !p.pipeline || !p.tensor) return;
  const std::int64_t product = *p.data * *p.pipeline * *p.tensor;
  if (product >= cluster.num_devices()) return;
  throw_bad_input({config.where("parallelism.data"),
                   fmt::format("data x pipeline x tensor = {} leaves out some of {} ranks", product,
                               cluster.num_devices()),
                   "every rank drives a device of the grid",
                   fmt::format("start {} ranks, or set one of them to \"auto\"", product)});
}

/// More ranks than anybody starts: three degrees whose product is beyond are no forgotten mpirun.
constexpr std::int64_t most_ranks = 1'000'000;

/// Degrees for more ranks than there are: mpirun was forgotten, or given too few.
void check_started_ranks(const Config& config, const Cluster& cluster) {
  const ParallelismConfig& p = config.parallelism;
  std::vector<std::string> degrees;
  std::int64_t ranks = 1;
  std::string place;
  for (const auto& [key, degree] : {std::pair<const char*, AutoInt>{"data", p.data},
                                    {"pipeline", p.pipeline},
                                    {"tensor", p.tensor}}) {
    if (!degree) continue;
    if (place.empty()) place = config.where(fmt::format("parallelism.{}", key));
    degrees.push_back(fmt::format("{} = {}", key, *degree));
    ranks *= std::clamp<std::int64_t>(*degree, 1, most_ranks);
    if (ranks > most_ranks) return;  // a typing error, which is told as one
  }
  if (ranks <= cluster.num_devices()) return;
  const std::string reason = launched_rank()
                                 ? fmt::format("{} {} started", cluster.num_devices(),
                                               cluster.num_devices() == 1 ? "was" : "were")
                                 : "this is one process: no mpirun or srun started it";
  throw_bad_input(
      {place,
       fmt::format("{} need{} {} ranks", join(degrees), degrees.size() == 1 ? "s" : "", ranks),
       reason,
       fmt::format("type mpirun -np {} pptrain train {}, or set a degree to \"auto\"", ranks,
                   shell_word(config.source))});
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
    for (const ParameterSpec& spec : layer.parameters) {
      const bool divided = spec.axis != ShardAxis::none || spec.row_axis != ShardAxis::none;
      if (!divided) sizes.undivided_parameters += static_cast<double>(spec.size());
    }
    sizes.output_bytes = layer.output_bytes;
    sizes.stored_bytes = layer.stored_bytes;
    sizes.tensor_parallel_allreduce_bytes = layer.tensor_parallel_allreduce_bytes;
    sizes.exchange_bytes = layer.exchange_bytes;
    sizes.batch_norms = layer.batch_norms;
    sizes.batch_norm_channels = layer.batch_norm_channels;
    profile.layers.push_back(sizes);
  }
  return profile;
}

std::vector<int> profiled_degrees(const Config& config, const Model& model, const Cluster& cluster,
                                  const std::optional<Plan>& given) {
  std::set<int> degrees = {1};
  if (given) {
    for (const Stage& stage : given->stages) {
      degrees.insert(stage.tensor_parallel);
      const StageParts parts(stage);
      for (const StagePart& part : parts.all()) degrees.insert(part.computed_degree());
    }
  } else if (config.parallelism.tensor) {
    degrees.insert(static_cast<int>(*config.parallelism.tensor));
  } else {
    for (int n = 1; n <= cluster.num_devices(); ++n) {
      if (model.divided_units() % n == 0) degrees.insert(n);
    }
  }
  for (const Annotation& annotation : config.model.annotate) {
    if (annotation.primitive == Primitive::split)
      degrees.insert(static_cast<int>(annotation.devices));
  }
  std::erase_if(degrees, [&](int n) { return n < 1 || n > model.most_members(); });
  return {degrees.begin(), degrees.end()};
}

void check_parallelism(const Config& config, const Model& model, const Cluster& cluster) {
  check_product(config, cluster);
  check_started_ranks(config, cluster);
  Profile profile = layer_sizes(config, model);
  for (ProfileLayer& layer : profile.layers) {
    for (const DeviceKind& kind : cluster.device_kinds) {
      for (const int n : profiled_degrees(config, model, cluster, {}))
        layer.rows.push_back({kind.name, n, 1.0, {}, true});
    }
  }
  const Instance instance = {profile, cluster, config.training.global_batch_size};
  check_search(config.planner.name, instance, restrictions_of(config), config.source);
}

Profile parse_profile_together(MPI_Comm world, Waiter& waiter, const std::string& text,
                               const std::string& source) {
  Profile profile;
  collectively(world, waiter, [&] { profile = parse_profile(text, source); });
  return profile;
}

Profile measure_profile(MPI_Comm world, Waiter& waiter, const MeasuredModel& measured,
                        const ProfileProgress& progress) {
  const Model& model = measured.model;
  const int rank = rank_in(world);
  const std::vector<TimingTask> tasks = timing_tasks(model, measured.cluster, measured.degrees);
  const auto ranks = timing_ranks(measured.cluster, measured.map);
  std::map<std::string, std::size_t> dealt;
  nlohmann::json mine = nlohmann::json::array();
  std::vector<const TimingTask*> own;
  for (const TimingTask& task : tasks) {
    const std::vector<RankId>& of_kind = ranks.at(task.device_kind);
    if (of_kind[dealt[task.device_kind]++ % of_kind.size()].value == rank) own.push_back(&task);
  }
  // The host pages; a GPU has what it has.
  const double memory_bytes =
      measured.backend.device.is_host()
          ? std::numeric_limits<double>::infinity()
          : measured.cluster.kind_of(measured.map.device_of(RankId(rank))).memory;
  collectively(world, waiter, [&] {
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (rank == 0) progress(static_cast<int>(i), static_cast<int>(own.size()));
      mine.push_back(run_task(measured.config, model, *own[i], measured.backend, memory_bytes));
    }
    if (rank == 0) progress(static_cast<int>(own.size()), static_cast<int>(own.size()));
  });
  Profile profile = layer_sizes(measured.config, model);
  profile.workspace_bytes = gradient_buffer_bytes;
  // The results of thousands of layers take long to add up and to write; rank 0 gives signs of life
  // meanwhile.
  const std::vector<std::string> of_ranks = gather(world, mine.dump(), waiter);
  std::string text;
  collectively(world, waiter, [&] {
    for (const std::string& results : of_ranks)
      add_results(profile, model, nlohmann::json::parse(results));
    // Two micro-batches that are being received and two that are being sent.
    profile.workspace_bytes_per_sample += 4.0 * model.layers.front().output_bytes;
    if (rank == 0) text = write_profile(profile);
  });
  return parse_profile_together(world, waiter, broadcast(world, text, waiter),
                                "the measured profile");
}

}  // namespace pptrain
