#include "runtime/prepare.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "cluster/read.hpp"
#include "comm/blocking_call.hpp"
#include "comm/collective.hpp"
#include "comm/mpi.hpp"
#include "config/check.hpp"
#include "config/pack.hpp"
#include "config/read.hpp"
#include "model/check.hpp"
#include "plan/match.hpp"
#include "planners/describe/describe.hpp"
#include "planners/describe/running_cost.hpp"
#include "planners/describe/throughput.hpp"
#include "planners/given_plan.hpp"
#include "planners/judge/contenders.hpp"
#include "planners/objective.hpp"
#include "planners/other_nodes.hpp"
#include "probe/core_pools.hpp"
#include "probe/discover.hpp"
#include "probe/rank_hosts.hpp"
#include "profile/analytic.hpp"
#include "profile/from_files.hpp"
#include "runtime/execute/executable.hpp"
#include "runtime/gpu_table.hpp"
#include "runtime/named_hosts.hpp"
#include "runtime/optimizer_check.hpp"
#include "runtime/peak_cache.hpp"
#include "runtime/profiler.hpp"
#include "runtime/progress.hpp"
#include "runtime/search_display.hpp"

namespace pptrain {
namespace {

/// Of ranks that cannot tell each other that they work.
constexpr double longest_patience = 3600.0;

void check_layers(const Profile& profile, const Model& model, const std::string& source) {
  if (profile.num_layers() == model.num_layers()) return;
  throw_bad_input({source, fmt::format("a profile of {} layers", profile.num_layers()),
                   fmt::format("the model has {}", model.num_layers()), "use a profile of this very model"});
}

/// The profile of a file, which has to be of this model.
Profile profile_of(const Model& model, const std::string& path) {
  Profile profile = read_profile(path);
  check_layers(profile, model, path);
  return profile;
}

/// The profile in the cache as text; "" where there is none. One that is damaged is measured anew, with a warning.
std::string cached_profile(const Model& model, const std::string& path) {
  std::error_code ignored;
  if (path.empty() || !std::filesystem::exists(path, ignored)) return "";
  try {
    return write_profile(profile_of(model, path));
  } catch (const Error& error) {
    log_warning("{}; measuring anew", error.what());
    return "";
  }
}

Machine emulated_or_given(MPI_Comm world, const std::string& path, Cluster cluster) {
  if (cluster.num_devices() != size_of(world)) {
    throw_bad_input(
        {path, fmt::format("{} devices for {} ranks", cluster.num_devices(), size_of(world)),
         "every rank drives one device",
         fmt::format("start {} ranks; or plan without them, by times that are computed: pptrain plan --analytic",
                     cluster.num_devices())});
  }
  Machine machine;
  machine.cluster = std::move(cluster);
  machine.map = RankMap::identity(machine.cluster.num_devices());
  return machine;
}

/// By name where the file has names. Every rank comes to the same; rank 0 tells what was taken for granted.
RankMap map_of_hosts(MPI_Comm world, Waiter& waiter, const Cluster& cluster, const std::vector<RankHost>& ranks,
                     const std::string& file) {
  RanksOfDevices match;
  collectively(world, waiter, [&] { match = match_hosts(cluster, ranks, file); });
  if (rank_in(world) == 0 && !match.taken.empty()) log_warning("{}", describe_taken(match.taken, file));
  return RankMap(match.rank_of_device);
}

CoreUse core_use(MPI_Comm world, Waiter& waiter) {
  return pool_of(find_core_pools(world, waiter), rank_in(world)).core_use();
}

/// The names of all hosts, each once, in the order of the ranks.
std::vector<std::string> host_names(const std::vector<RankHost>& ranks) {
  std::vector<std::string> names;
  for (const RankHost& rank : ranks) {
    if (std::find(names.begin(), names.end(), rank.host.name) == names.end()) names.push_back(rank.host.name);
  }
  return names;
}

Emulate file_emulates(const std::string& cluster_file) {
  return cluster_file == "discover" ? Emulate::no : read_cluster(cluster_file).emulate;
}

}  // namespace

std::string describe_machine(const Machine& machine) {
  const std::string cluster = describe_cluster(machine.cluster);
  return machine.gpus.empty() ? cluster : cluster + "\n" + machine.gpus;
}

std::vector<int> nodes_of_ranks(const Machine& machine) {
  std::vector<int> nodes;
  for (int r = 0; r < machine.map.size(); ++r) {
    nodes.push_back(machine.cluster.node_of(machine.map.device_of(RankId(r))));
  }
  return nodes;
}

double timeout_of(const JobOptions& options) {
  std::error_code ignored;
  const std::filesystem::path path = options.config_path;
  if (path.extension() != ".toml" || !std::filesystem::is_regular_file(path, ignored)) return JobConfig().timeout;
  double seconds = JobConfig().timeout;
  error_of([&] { seconds = read_config(path, options.overrides).job.timeout; });  // rank 0 tells what is wrong with it
  return seconds;
}

Waiter first_waiter(MPI_Comm world) {
  const double set = BlockingTimeout::seconds();
  const double seconds = set > 0.0 ? set : JobConfig().timeout;
  std::shared_ptr<Pulse> pulse = Pulse::start(world, seconds);
  Waiter waiter(pulse == nullptr ? longest_patience : seconds, CoreUse::shared);
  waiter.heed(std::move(pulse));
  waiter.name_place([rank = rank_in(world)] { return fmt::format("rank {}, before the first step", rank); });
  return waiter;
}

Waiter preparing_waiter(MPI_Comm world) {
  Waiter waiter = first_waiter(world);
  waiter.set_core_use(core_use(world, waiter));
  return waiter;
}

Waiter make_waiter(MPI_Comm world) {
  constexpr double first_timeout_seconds = 600.0;
  Waiter first(first_timeout_seconds, CoreUse::shared);
  return {longest_patience, core_use(world, first)};
}

Emulate emulation_of(MPI_Comm world, Waiter& waiter, const std::string& file) {
  int emulate = 0;
  collectively(world, waiter, [&] {
    if (rank_in(world) == 0) emulate = static_cast<int>(file_emulates(file));
  });
  return static_cast<Emulate>(std::stoi(broadcast(world, std::to_string(emulate), waiter)));
}

Config load_config(MPI_Comm world, Waiter& waiter, const JobOptions& options) {
  std::string text;
  collectively(world, waiter, [&] {
    if (rank_in(world) != 0) return;
    const Config config = read_config(options.config_path, options.overrides);
    if (file_emulates(cluster_file(options, config)) != Emulate::timing) check_trainable(config);
    text = pack_config(config);
  });
  Config config = unpack_config(broadcast(world, text, waiter));
  if (waiter.pulse() != nullptr) waiter.set_timeout(config.job.timeout);
  return config;
}

std::string cluster_file(const JobOptions& options, const Config& config) {
  return options.cluster_path.empty() ? config.cluster.file : options.cluster_path;
}

RankDevice find_device(MPI_Comm world, Waiter& waiter, const JobOptions& options, const Config& config) {
  const bool emulates = emulation_of(world, waiter, cluster_file(options, config)) != Emulate::no;
  RankDevice device = emulates ? RankDevice() : RankDevice(world, waiter, config);
  collectively(world, waiter, [&] { check_optimizer(config, device); });
  return device;
}

Machine find_machine(MPI_Comm world, Waiter& waiter, const std::string& path, const RankDevice& device) {
  tell_if_interrupted("while measuring the machine: nothing was saved");
  Machine machine;
  if (path == "discover") {
    Discovery discovery =
        discover_cluster(world, waiter, device.probed(), Nvml::usual_name, [] { return kept_peak_rates(); });
    machine.cluster = std::move(discovery.cluster);
    machine.map = RankMap(discovery.rank_of_device);
    machine.gpus = describe_gpus(discovery.ranks, discovery.neighbours);
    machine.hosts = host_names(discovery.ranks);
  } else {
    std::string text;
    collectively(world, waiter, [&] {
      if (rank_in(world) == 0) text = write_cluster(emulated_or_given(world, path, read_cluster(path)).cluster);
    });
    machine = emulated_or_given(world, path, parse_cluster(broadcast(world, text, waiter), path));
    const std::vector<RankHost> ranks = find_rank_hosts(world, waiter, device.probed());
    if (machine.cluster.emulate == Emulate::no) machine.map = map_of_hosts(world, waiter, machine.cluster, ranks, path);
    machine.gpus = describe_gpus(ranks, find_gpu_neighbours(world, waiter, ranks));
    machine.hosts = host_names(ranks);
  }
  machine.core_use = core_use(world, waiter);
  return machine;
}

Machine find_machine(MPI_Comm world, Waiter& waiter, const JobOptions& options, const Config& config,
                     const RankDevice& device) {
  Machine machine = find_machine(world, waiter, cluster_file(options, config), device);
  set_reserves(machine.cluster, config, options.profile_path);
  return machine;
}

Profile profile_without_machine(MPI_Comm world, Waiter& waiter, const JobOptions& options, const Config& config,
                                const Machine& machine) {
  std::string text;
  collectively(world, waiter, [&] {
    if (rank_in(world) == 0)
      text = write_profile(profile_without_machine(config, machine.cluster, options.profile_path));
  });
  return parse_profile_together(world, waiter, broadcast(world, text, waiter), "the profile");
}

std::optional<Plan> named_plan(MPI_Comm world, Waiter& waiter, const Config& config, const Model& model,
                               const Machine& machine) {
  const std::string& path = config.parallelism.plan;
  if (path.empty()) return std::nullopt;
  std::string text;
  collectively(world, waiter, [&] {
    if (rank_in(world) != 0) return;
    const Plan plan = read_plan(path);
    check_plan_matches(plan, model, machine.cluster, config.training.global_batch_size, path);
    check_blocks_executable(plan, model, path);
    check_plan_batches(config, model, plan.micro_batch_size, path);
    text = write_plan(plan);
  });
  return parse_plan(broadcast(world, text, waiter), path);
}

namespace {

/// Refuses (`Error`, exit code 2) a job on this machine that names another runtime: pptrain executes it.
void check_own_runtime(const Config& config) {
  const std::string own = ProfileConfig().like;
  if (config.profile.like == own) return;
  throw_bad_input({config.where("profile.like"),
                   fmt::format("like = \"{}\", but pptrain runs here", config.profile.like),
                   "other runtimes are predicted for a cluster from a file alone",
                   fmt::format("leave it out, or plan with --cluster FILE --analytic (\"{}\" is pptrain)", own)});
}

/// The profile that a job plans by, with the bytes of fp32 gradients.
Profile found_profile(MPI_Comm world, Waiter& waiter, const JobOptions& options, const Config& config,
                      const Model& model, const Machine& machine, const std::optional<Plan>& named,
                      const RankDevice& device) {
  if (machine.cluster.emulate != Emulate::no) {
    const Profile profile = profile_without_machine(world, waiter, options, config, machine);
    check_layers(profile, model, config.source);
    return profile;
  }
  if (config.profile.analytic && options.profile_path.empty() && config.profile.file.empty()) {
    Profile profile;
    collectively(world, waiter, [&] { profile = analytic_profile(config, machine.cluster); });
    return profile;
  }
  const std::vector<int> degrees = profiled_degrees(config, model, machine.cluster, named);
  const bool caches = rank_in(world) == 0 && config.profile.cache;
  const std::string given = options.profile_path.empty() ? config.profile.file : options.profile_path;
  const std::string cache =
      caches && given.empty() ? profile_cache_path(config, model, machine.cluster, degrees, device.names()) : "";
  const std::string path = given.empty() ? cache : given;
  std::string text;
  collectively(world, waiter, [&] {
    if (rank_in(world) != 0) return;
    text = given.empty() ? cached_profile(model, cache) : write_profile(profile_of(model, given));
  });
  text = broadcast(world, text, waiter);
  if (!text.empty()) {
    if (rank_in(world) == 0) log_info("Profile: {}", path);
    return parse_profile_together(world, waiter, text, path.empty() ? "the profile" : path);
  }
  tell_if_interrupted("while timing layers: nothing was saved; `pptrain plan --analytic` plans without timing");
  auto told = std::chrono::steady_clock::now();
  const auto progress = [&told, start = told, &cache](int done, int total) {
    const auto now = std::chrono::steady_clock::now();
    const auto seconds_since = [now](auto before) { return std::chrono::duration<double>(now - before).count(); };
    if (done == 0) log_info("Measuring layer times once{}", cache.empty() ? "" : "; cached");
    if (seconds_since(told) < plain_period(seconds_since(start))) return;
    log_info("Measuring layer times: {} of {} done", done, total);
    told = now;
  };
  Profile profile =
      measure_profile(world, waiter, config, model, machine.cluster, machine.map, degrees, progress, device.backend());
  collectively(world, waiter, [&] {
    if (rank_in(world) == 0 && !cache.empty()) write_cache(cache, write_profile(profile));
  });
  return profile;
}

}  // namespace

Profile obtain_profile(MPI_Comm world, Waiter& waiter, const JobOptions& options, const Config& config,
                       const Model& model, const Machine& machine, const std::optional<Plan>& named,
                       const RankDevice& device) {
  check_own_runtime(config);
  Profile profile = found_profile(world, waiter, options, config, model, machine, named, device);
  count_gradients(profile, config.training.gradient_precision);
  return profile;
}

namespace {

/// The plan is what a dry run ends with.
void print_plan(const JobOptions& options, const std::string& text) {
  options.dry_run ? print_result(text) : print_step(text);
}

/// Adds speed and cost to what is predicted of a plan.
void predict_figures(const Config& config, const Instance& instance, Plan& plan) {
  const ModelWork work = model_work(config, instance.profile);
  predict_throughput(instance, work, plan);
  predict_cost(instance, cost_question(config, work, {}), plan);
}

Plan printed_plan(const JobOptions& options, const Config& config, const Instance& instance) {
  const std::string& path = config.parallelism.plan;
  check_plan_devices(read_plan(path), instance.cluster, path);
  Plan plan = given_plan(config, instance);
  predict_figures(config, instance, plan);
  print_plan(options, describe_plan(plan, instance.cluster) + describe_gradients(instance.profile));
  print_detail(describe_plan_in_full(plan, instance.cluster));
  return plan;
}

/// The best plan, and for trials the next best ones.
std::vector<Plan> searched_plans(const JobOptions& options, const Config& config, const Instance& instance) {
  SearchResult result = shown_search(config.planner.name, config, instance, restrictions_of(config));
  if (result.plan) predict_figures(config, instance, *result.plan);
  if (!result.grids.empty()) print_detail(describe_candidates(result, instance.cluster) + "\n");
  const Plan& plan = feasible_plan(result, config.planner.name, config, instance, restrictions_of(config));
  print_plan(options, describe_plan(plan, instance.cluster) + describe_gradients(instance.profile));
  print_detail(describe_plan_in_full(plan, instance.cluster));
  return contenders(result, instance, static_cast<int>(std::max<std::int64_t>(1, config.planner.trials)));
}

}  // namespace

SearchResult shown_search(const std::string& planner, const Config& config, const Instance& instance,
                          const Restrictions& restrictions, std::optional<double> training_tokens) {
  const CostQuestion question = cost_question(config, model_work(config, instance.profile), training_tokens);
  SearchProgress progress;
  const SearchDisplay display(progress);
  return search_by_objective(planner, instance, restrictions, objective_of(config), question, config.source,
                             Stop(config.planner.time_limit), &progress);
}

const Plan& feasible_plan(const SearchResult& result, const std::string& planner, const Config& config,
                          const Instance& instance, const Restrictions& restrictions) {
  constexpr double longest_seconds = 20.0;
  if (result.plan) return *result.plan;
  std::string remedy = "use more or larger devices, a smaller model or a smaller micro-batch";
  const Stop stop = Stop(config.planner.time_limit).within(longest_seconds);
  if (const auto more = nodes_that_suffice(planner, instance, restrictions, config.source, stop)) {
    remedy = fmt::format("planned again with {} nodes instead of {} it fits, at {} a step: use so many", more->nodes,
                         instance.cluster.num_nodes(), format_seconds(more->plan.predicted->iteration_seconds));
  }
  throw_no_feasible_plan({config.source, "no plan fits", result.why_not, remedy});
}

std::vector<Plan> choose_plans(MPI_Comm world, Waiter& waiter, const JobOptions& options, const Config& config,
                               const Machine& machine, const Profile& profile) {
  std::vector<Plan> plans;
  tell_if_interrupted(
      "while searching a plan: nothing was saved; [planner] time_limit ends a search with its best plan");
  collectively(world, waiter, [&] {
    if (rank_in(world) != 0) return;
    const Instance instance = {profile, machine.cluster, config.training.global_batch_size, ties_of(config, profile)};
    if (config.parallelism.plan.empty()) {
      plans = searched_plans(options, config, instance);
    } else {
      plans = {printed_plan(options, config, instance)};
    }
  });
  tell_if_interrupted("before the first step: nothing was saved");
  const std::string count = broadcast(world, fmt::format("{}", plans.size()), waiter);
  plans.resize(std::stoul(count));
  for (Plan& plan : plans) plan = parse_plan(broadcast(world, write_plan(plan), waiter), "the plan");
  return plans;
}

double peak_flop_rate(const Cluster& cluster, Precision precision) {
  double sum = 0.0;
  for (const NodeGroup& group : cluster.groups) {
    const auto kind = std::find_if(cluster.device_kinds.begin(), cluster.device_kinds.end(),
                                   [&](const DeviceKind& each) { return each.name == group.device_kind; });
    const auto rate = kind->flops.find(to_string(precision));
    if (rate == kind->flops.end()) return 0.0;
    const double share = group.shares_cores() ? static_cast<double>(group.cores) / group.core_sharers() : 1.0;
    sum += rate->second * share * group.num_devices * group.count;
  }
  return sum;
}

}  // namespace pptrain
