#include "planning.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/parallel_for.hpp"
#include "calibrating.hpp"
#include "cluster/read.hpp"
#include "comm/collective.hpp"
#include "comm/mpi.hpp"
#include "config/read.hpp"
#include "config/toml_reader.hpp"
#include "config/trainer_kinds.hpp"
#include "converting.hpp"
#include "export_plan/like.hpp"
#include "interrupt.hpp"
#include "io/checkpoint/parameters.hpp"
#include "model/build/check.hpp"
#include "model_job.hpp"
#include "output.hpp"
#include "plan/match.hpp"
#include "plan_report.hpp"
#include "planners/describe/describe.hpp"
#include "planners/describe/running_cost.hpp"
#include "planners/describe/throughput.hpp"
#include "planners/given_plan.hpp"
#include "planners/judge/rank_correlation.hpp"
#include "profile/analytic.hpp"
#include "profile/from_files.hpp"
#include "runtime/execute/model_weights.hpp"
#include "runtime/generate/sample_prompts.hpp"
#include "runtime/job/choose_plans.hpp"
#include "runtime/job/datasets.hpp"
#include "runtime/measure/obtain_profile.hpp"
#include "runtime/places/load_config.hpp"
#include "runtime/places/machine.hpp"
#include "runtime/places/waiters.hpp"

namespace pptrain {
Config planning_config(const Options& options) {
  if (!options.model.empty()) return model_job(options);
  std::vector<std::string> overrides = options.overrides;
  const std::vector<std::string> settings = short_settings(options);
  overrides.insert(overrides.end(), settings.begin(), settings.end());
  if (!options.profile.empty()) overrides.push_back("profile.file=" + quote_toml(options.profile));
  if (options.analytic) overrides.emplace_back("profile.analytic=true");
  Config config = options.input.empty() ? parse_config("", "command line", "", overrides)
                                        : read_config(options.input, overrides);
  if (!options.profile.empty())
    config.profile.file = options.profile;  // not beside the configuration
  if (!options.cluster.empty()) config.cluster.file = options.cluster;
  return config;
}

bool names_model(const Options& options, const Config& config) {
  return !options.input.empty() || !options.model.empty() || !config.profile.file.empty() ||
         config.places.contains("model.name");
}

bool names_files(const Config& config) {
  return !ClusterConfig::is_discovered(config.cluster.file) &&
         (config.profile.analytic || !config.profile.file.empty());
}

Cluster planning_cluster(const Options& options, const Config& config) {
  Cluster cluster = asked_cluster(options, config);
  set_reserves(cluster, config, options.profile);
  return cluster;
}

Profile planning_profile(const Options& options, const Config& config, const Cluster& cluster) {
  return profile_without_machine(config, cluster, options.profile);
}

void take_context(const Plan& plan, const std::string& path, Config& config) {
  if (config.places.contains("parallelism.context"))
    check_plan_context(plan, config.parallelism.context, path);
  config.parallelism.context = plan.context;
  if (plan.context == 1 || trainer_kind(config.parallelism.like) != nullptr) return;
  throw_bad_input({path,
                   fmt::format("context = {}: so many replicas divide the positions of each sample",
                               plan.context),
                   "other trainers do that, and pptrain does not",
                   "add --like, with the trainer that it is for"});
}

std::vector<Tie> planned_ties(const Options& options, const Config& config,
                              const Profile& profile) {
  const bool knows_layers = !options.input.empty() || !options.model.empty();
  return knows_layers ? ties_of(config, profile) : std::vector<Tie>();
}

namespace {

/// The cluster file of a command that looks at no machine.
Cluster named_planning_cluster(const Config& config) {
  if (ClusterConfig::is_discovered(config.cluster.file)) {
    throw_bad_input({config.source, "no cluster to take device rates from",
                     "an analytic profile looks at no machine",
                     "add --cluster CLUSTER.toml, or [cluster] file"});
  }
  return read_cluster(config.cluster.file);
}

/// The plan for people; all of it where they asked for more.
std::string plan_text(const Config& config, const Plan& plan, const Instance& instance) {
  std::string text = describe_plan(plan, instance.cluster) + describe_gradients(instance.profile);
  const TrainerKind* trainer = trainer_kind(config.parallelism.like);
  if (trainer != nullptr && config.parallelism.plan.empty())
    text += fmt::format("  {} runs it: export-plan --for {} writes its files\n", trainer->title,
                        trainer->name);
  if (verbosity() == Verbosity::verbose)
    return text + describe_plan_in_full(plan, instance.cluster);
  return text + "  -v: every stage, the time by parts, why other planners are slower\n";
}

/// Prints the plan, and writes the files that are asked for.
void deliver_plan(const Options& options, const Config& config, const ModelWork& work, Plan plan,
                  const Instance& instance) {
  predict_throughput(instance, work, plan, options.training_tokens);
  predict_cost(instance, cost_question(config, work, options.training_tokens), plan);
  if (!options.report.empty()) deliver_plan_report(options, config, plan, instance);
  if (!options.output.empty()) deliver(write_plan(plan), options.output);
  if (options.format == "text") deliver(plan_text(config, plan, instance), "");
  if (options.format == "json" && options.output.empty()) deliver(write_plan(plan), "");
}

/// Searches and prints the plan; with --correlation also how well closed forms rank plans.
void deliver_search(const Options& options, const Config& config, const std::string& planner,
                    const Instance& instance, const Restrictions& restrictions) {
  const ModelWork work = asked_work(options, config, instance.profile);
  const InterruptEndsSearch interrupt;
  const SearchResult result =
      shown_search(planner, config, instance, restrictions, options.training_tokens);
  Plan plan = feasible_plan(result, planner, config, instance, restrictions);
  if (options.correlation) {
    const std::string schedule = schedule_kind(restrictions.schedule).planned_stage_by_stage
                                     ? restrictions.schedule
                                     : ScheduleChoice().name;
    plan.rank_correlations = correlate_with_simulator(
        {instance, restrictions, schedule, Stop(config.planner.time_limit)});
  }
  if (options.format == "text" && verbosity() == Verbosity::verbose && !result.grids.empty()) {
    deliver(describe_candidates(result, instance.cluster) + "\n", "");
  }
  deliver_plan(options, config, work, std::move(plan), instance);
}

/// Refuses files that cannot be written before anything is searched.
void check_deliveries(const Options& options) {
  check_delivery(options.output);
  check_delivery(options.report);
}

}  // namespace

ModelWork asked_work(const Options& options, const Config& config, const Profile& profile) {
  ModelWork work = model_work(config, profile);
  if (options.training_tokens && !work.tokens_per_sample) {
    throw_bad_input({"command line: --tokens",
                     fmt::format("how many tokens a sample of {} has is not known", profile.model),
                     "it is no model of texts, or only its times are known",
                     "leave it out, or say the length: --set training.sequence_length=N"});
  }
  return work;
}

PlanningJob planning_job(const Options& options) {
  Config config = planning_config(options);
  if (options.global_batch_size) config.training.global_batch_size = *options.global_batch_size;
  if (!names_files(config) || !names_model(options, config)) {
    throw_bad_input({"command line", "nothing to plan",
                     "neither a configuration nor --cluster with --model or --profile is given",
                     "add CONFIG.toml, or two of these options"});
  }
  Cluster cluster = planning_cluster(options, config);
  Profile profile = planning_profile(options, config, cluster);
  Restrictions restrictions = asked_restrictions(options, config);
  const bool has_batch =
      options.global_batch_size || config.places.contains("training.global_batch_size");
  if (options.input.empty() && options.model.empty() && !has_batch) {
    throw_bad_input({"command line", "no global batch size", "it is not in the profile",
                     "add --global-batch-size N"});
  }
  std::vector<Tie> ties = planned_ties(options, config, profile);
  std::string planner = options.planner.empty() ? config.planner.name : options.planner;
  return {std::move(config),       std::move(cluster), std::move(profile),
          std::move(restrictions), std::move(ties),    std::move(planner)};
}

namespace {

/// The answer needs a profile and a cluster alone: no machine, and any model.
void plan_from_files(const Options& options) {
  check_deliveries(options);
  PlanningJob job = planning_job(options);
  auto& [config, cluster, profile, restrictions, ties, planner] = job;
  const Instance instance = {profile, cluster, config.planned_batch_size(), ties};
  check_instance(instance, config.profile.file.empty() ? config.source : config.profile.file);
  if (!options.calibrate.empty())
    calibrate_times(options.calibrate, config, planner, restrictions, instance, profile);
  if (!config.parallelism.plan.empty()) {
    deliver_plan(options, config, asked_work(options, config, instance.profile),
                 given_plan(config, instance), instance);
    return;
  }
  deliver_search(options, config, planner, instance, restrictions);
}

/// Name and number of layers of the model of a planning job.
std::pair<std::string, int> planned_model(const Config& config) {
  if (config.profile.file.empty()) {
    const Model model = build_model_of(config);
    return {model.name, model.num_layers()};
  }
  const Profile profile = named_profile(config);
  return {profile.model, profile.num_layers()};
}

}  // namespace

JobOptions job_options(const Options& options) {
  JobOptions job;
  job.config_path = options.input;
  job.overrides = options.overrides;
  const std::vector<std::string> settings = short_settings(options);
  job.overrides.insert(job.overrides.end(), settings.begin(), settings.end());
  if (!options.planner.empty()) job.overrides.push_back("planner.name=" + options.planner);
  if (options.analytic) job.overrides.emplace_back("profile.analytic=true");
  job.cluster_path = options.cluster;
  job.profile_path = options.profile;
  job.resume = options.resume;
  job.dry_run = options.dry_run;
  return job;
}

bool profiles_from_files(const Options& options) {
  if (options.input.empty() || !options.from.first.empty()) return true;
  try {
    return planning_config(options).profile.analytic;
  } catch (const Error&) {
    return true;
  }
}

Restrictions asked_restrictions(const Options& options, const Config& config) {
  Restrictions restrictions = restrictions_of(config);
  if (options.micro_batch_size)
    restrictions.micro_batch_size = *options.micro_batch_size * restrictions.context;
  if (auto rule = rule_of_trainer(config))
    restrictions = as_trainer_runs(std::move(restrictions), std::move(rule), config.source);
  restrictions.threads =
      static_cast<int>(std::min<std::int64_t>(options.threads.value_or(0), usable_cores()));
  return restrictions;
}

bool plans_from_files(const Options& options) {
  try {
    return options.input.empty() || names_files(planning_config(options));
  } catch (const Error&) {
    return true;
  }
}

void run_profile(const Options& options) {
  if (!options.from.first.empty()) {
    run_conversion(options);
    return;
  }
  if (options.input.empty()) {
    throw_bad_input({"command line", "nothing to profile", "no CONFIG.toml and no --from are given",
                     "add CONFIG.toml, or --from PLANNER PATH"});
  }
  if (profiles_from_files(options)) {
    const Config config = planning_config(options);
    deliver(write_profile(analytic_profile(config, named_planning_cluster(config))),
            options.output);
    return;
  }
  Waiter waiter = preparing_waiter(MPI_COMM_WORLD);
  collectively(MPI_COMM_WORLD, waiter, [&] {
    if (rank_in(MPI_COMM_WORLD) == 0) check_delivery(options.output);
  });
  JobOptions job = job_options(options);
  job.overrides.insert(job.overrides.end(), {"profile.cache=false", "profile.file=\"\""});
  const Config config = load_config(MPI_COMM_WORLD, waiter, job);
  const Model model = build_model_of(config);
  const RankDevice device = find_device(MPI_COMM_WORLD, waiter, job, config);
  const Machine machine = find_machine(MPI_COMM_WORLD, waiter, job, config, device);
  const JobSetup setup = {MPI_COMM_WORLD, waiter, job, config, model, machine, device};
  const Profile profile = obtain_profile(setup, named_plan(setup));
  if (rank_in(MPI_COMM_WORLD) == 0) deliver(write_profile(profile), options.output);
}

void run_plan(const Options& options) {
  if (plans_from_files(options)) {
    plan_from_files(options);
    return;
  }
  if (!options.calibrate.empty()) {
    throw_bad_input({"command line: --calibrate", "the times of layers are measured here",
                     "only times that are computed, or from a file, are scaled",
                     "name a cluster and add --analytic or --profile FILE, or leave it out"});
  }
  Waiter waiter = preparing_waiter(MPI_COMM_WORLD);
  collectively(MPI_COMM_WORLD, waiter, [&] {
    if (rank_in(MPI_COMM_WORLD) == 0) check_deliveries(options);
  });
  const JobOptions job = job_options(options);
  const Config config = load_config(MPI_COMM_WORLD, waiter, job);
  const Model model = build_model_of(config);
  const RankDevice device = find_device(MPI_COMM_WORLD, waiter, job, config);
  Machine machine = find_machine(MPI_COMM_WORLD, waiter, job, config, device);
  set_prices(options.prices, machine.cluster);
  const JobSetup setup = {MPI_COMM_WORLD, waiter, job, config, model, machine, device};
  const std::optional<Plan> named = named_plan(setup);
  const Profile profile = obtain_profile(setup, named);
  const Instance instance = {profile, machine.cluster, config.planned_batch_size(),
                             ties_of(config, profile)};
  collectively(MPI_COMM_WORLD, waiter, [&] {
    if (rank_in(MPI_COMM_WORLD) != 0) return;
    if (named) {
      deliver_plan(options, config, asked_work(options, config, instance.profile),
                   given_plan(*named, config, instance), instance);
      return;
    }
    deliver_search(options, config, config.planner.name, instance,
                   asked_restrictions(options, config));
  });
}

/// Reads the files that a job names: what is wrong with them would be found when it starts.
void check_named_files(const Config& config) {
  const bool is_emulated = !ClusterConfig::is_discovered(config.cluster.file) &&
                           read_cluster(config.cluster.file).emulate == Emulate::timing;
  if (!config.profile.file.empty()) named_profile(config);
  if (!config.parallelism.plan.empty()) read_plan(config.parallelism.plan);
  if (!config.can_train_model() || is_emulated) return;
  const Model model = build_model_of(config);
  if (config.data.has_training_data()) open_datasets(config, model);
  // Planning takes nothing but dimensions from the folder.
  const bool starts_from_weights =
      !config.model.from.empty() && config.model.initial == InitialWeights::folder;
  if (starts_from_weights && !names_files(config))
    const ModelWeights weights(config.model.from, model);
  const SamplePrompts samples(config, model);
  if (!config.model.initial_parameters.empty())
    const ParameterFile file(config.model.initial_parameters);
}

std::string validated_job(const std::string& path) {
  const Config config = read_config(path);
  check_named_files(config);
  if (config.can_train_model() && !names_files(config)) {
    const int layers = build_model_of(config).num_layers();
    return fmt::format("a job of {} layers{}", layers,
                       config.data.has_training_data() ? "" : ", without data to train on");
  }
  const auto [name, num_layers] = planned_model(config);
  const std::string cluster =
      ClusterConfig::is_discovered(config.cluster.file)
          ? "the cluster of --cluster"
          : fmt::format("{} devices", read_cluster(config.cluster.file).num_devices());
  return fmt::format("a planning job: {} with {} layers on {}, {} samples", name, num_layers,
                     cluster, config.training.global_batch_size);
}

}  // namespace pptrain
