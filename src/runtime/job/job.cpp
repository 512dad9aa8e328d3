#include "runtime/job/job.hpp"

#include <algorithm>
#include <memory>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "cluster/read.hpp"
#include "comm/alarm.hpp"
#include "comm/collective.hpp"
#include "comm/fail_together.hpp"
#include "comm/mpi.hpp"
#include "cost/transfer_forms.hpp"
#include "io/checkpoint/checkpoint_folder.hpp"
#include "io/checkpoint/parameters.hpp"
#include "io/export/export_model.hpp"
#include "io/run/run_directory.hpp"
#include "model/build/check.hpp"
#include "plan/match.hpp"
#include "planners/describe/describe.hpp"
#include "runtime/checkpoint/data_fingerprint.hpp"
#include "runtime/checkpoint/resume.hpp"
#include "runtime/checkpoint/same_job.hpp"
#include "runtime/display/verbose.hpp"
#include "runtime/execute/executable.hpp"
#include "runtime/execute/model_weights.hpp"
#include "runtime/job/choose_plans.hpp"
#include "runtime/job/rehearse.hpp"
#include "runtime/job/trainer.hpp"
#include "runtime/measure/obtain_profile.hpp"
#include "runtime/measure/profiler.hpp"
#include "runtime/places/load_config.hpp"
#include "runtime/places/machine.hpp"
#include "runtime/places/offload_check.hpp"
#include "runtime/places/same_files.hpp"
#include "runtime/places/waiters.hpp"
#include "runtime/replan/trials.hpp"

namespace pptrain {
namespace {

/// Whether it throws `Error`.
bool fails(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error&) {
    return true;
  }
  return false;
}

/// Whether the weights are those of the folder that describes the model.
bool starts_from_folder(const Config& config) {
  return !config.model.from.empty() && config.model.initial == InitialWeights::folder;
}

/// The parameters that the job starts from.
void initialise(const Config& config, Session& session) {
  if (session.device() == nullptr) return;
  DeviceModel& device = *session.device();
  if (starts_from_folder(config)) {
    const ModelWeights weights(config.model.from, session.model());
    device.fill(
        [&](const ParameterSpec& spec, Interval run, float* out) { weights.read(spec, run, out); });
    return;
  }
  if (config.model.initial_parameters.empty()) {
    for (const auto& part : device.parts()) {
      fill_random(part->parameters(), static_cast<std::uint64_t>(config.job.seed));
    }
    return;
  }
  const ParameterFile file(config.model.initial_parameters);
  std::string loaded;
  std::vector<float> whole;
  device.fill([&](const ParameterSpec& spec, Interval run, float* out) {
    if (loaded != spec.name) whole = file.read(spec.name, spec.shape);
    loaded = spec.name;
    std::copy_n(whole.begin() + run.begin, run.size(), out);
  });
}

/// A plan that is tried.
class SessionRun final : public PlanRun {
 public:
  SessionRun(std::unique_ptr<RunningPlan> running, const Datasets& datasets)
      : running_(std::move(running)), datasets_(datasets) {}
  double iterate(std::int64_t step) override {
    return running_->session().train(step, samples_of(datasets_, step)).seconds;
  }
  double peak_bytes() override {
    return static_cast<double>(running_->session().arena().peak_bytes());
  }

 private:
  std::unique_ptr<RunningPlan> running_;
  const Datasets& datasets_;
};

/// What the session of a job is made from.
struct Planned {
  Cluster cluster;  ///< that the plan is for, with its links
  Profile profile;
  std::vector<Plan> plans;  ///< the best one, then those to be tried beside it
};

/// As the job was planned that left the checkpoint: with its plan, times and links the order of
/// every sum is the same.
Planned planned_before(const CheckpointState& state) {
  return {parse_cluster(state.cluster, "the checkpoint's cluster"),
          parse_profile(state.profile, "the checkpoint's profile"),
          {parse_plan(state.plan, "the checkpoint's plan")}};
}

Planned plan_anew(const JobSetup& job, PhaseTimes& phases) {
  const MPI_Comm world = job.world;
  Waiter& waiter = job.waiter;
  const Config& config = job.config;
  const Machine& machine = job.machine;
  Planned planned;
  planned.cluster = machine.cluster;
  collectively(world, waiter, [&] { check_offload(config, machine, job.device); });
  const std::optional<Plan> named = named_plan(job);
  collectively(world, waiter, [&] {
    if (named) return check_offload(*named, config.parallelism.plan, machine, job.device);
    check_parallelism(config, job.model, machine.cluster);
  });
  planned.profile = obtain_profile(job, named);
  phases.end("layer times");
  if (rank_in(world) == 0) print_detail(describe_layer_times(planned.profile) + "\n");
  const Config decided = with_offload_decided(config, machine, job.device);
  planned.plans =
      choose_plans(world, waiter, {job.options, decided, machine, planned.profile, named});
  phases.end("search");
  // A profile from a file may have degrees that the model has not.
  const auto check = [&](const Plan& plan) {
    check_plan_matches(plan, job.model, machine.cluster, config.training.global_batch_size,
                       "the plan that was found");
    check_blocks_executable(plan, job.model, "the plan that was found");
    check_offload(plan, "the plan that was found", machine, job.device);
  };
  check(planned.plans.front());
  std::erase_if(planned.plans, [&](const Plan& plan) { return fails([&] { check(plan); }); });
  return planned;
}

Planned plan_job(const JobSetup& job, const std::optional<Resumed>& from, PhaseTimes& phases) {
  if (!from) return plan_anew(job, phases);
  const bool prints = rank_in(job.world) == 0;
  bool alike = false;
  collectively(job.world, job.waiter,
               [&] { alike = plans_alike(from->state, job.config, job.machine.cluster); });
  if (!alike) {
    if (prints)
      log_info("Other devices or another way to plan than that of the checkpoint: planning anew");
    return plan_anew(job, phases);
  }
  Planned planned = planned_before(from->state);
  collectively(job.world, job.waiter, [&] {
    check_offload(planned.plans.front(), "the checkpoint's plan", job.machine, job.device);
  });
  if (prints) print_step(describe_plan(planned.plans.front(), planned.cluster) + "\n");
  return planned;
}

RunStart start_of(const std::optional<Resumed>& from) {
  if (!from) return {};
  return {from->state.step, from->run_directory, from->claimed, from->metrics, from->path};
}

/// How long the steps take, by what is known best of one.
void announce_training(const Config& config, const Plan& plan, std::int64_t first) {
  const std::optional<double> tried = trial_seconds(plan);
  const double seconds = tried ? *tried : plan.predicted.value_or(Prediction()).iteration_seconds;
  if (seconds <= 0.0) return;
  const std::int64_t steps = config.training.steps - first;
  log_info("{} step{} of {}, {}: about {}", steps, steps == 1 ? "" : "s", format_seconds(seconds),
           tried ? "measured in the trial" : "predicted",
           format_seconds(static_cast<double>(steps) * seconds));
}

/// Trains under the plan. Throws exit code 75 when it was stopped early.
void train_planned(const PlanJob& job, const Datasets& datasets, const std::vector<Plan>& plans,
                   const std::optional<Resumed>& from, StopRequest& stop, PhaseTimes& phases) {
  const MPI_Comm world = job.world;
  Waiter& waiter = job.waiter;
  const bool names = rank_in(world) == 0;
  Alarm alarm(world);
  // From here on no rank takes long, so that the configured timeout holds.
  Waiter patience(job.config.job.timeout, job.machine.core_use);
  patience.listen(&alarm);
  patience.name_place([rank = rank_in(world)] { return fmt::format("rank {}", rank); });
  const StartRun try_out = [&](const Plan& tried, Alarm& heard) {
    auto running = std::make_unique<RunningPlan>(job, tried, heard);
    initialise(job.config, running->session());
    return std::make_unique<SessionRun>(std::move(running), datasets);
  };
  tell_if_interrupted(
      "while trying plans: nothing was saved; [planner] trials = 0 leaves trials out");
  const Plan plan =
      fastest_plan({world, patience, job.machine, try_out}, plans, job.config.planner.trial_steps);
  if (plans.size() > 1) phases.end("trials");
  tell_if_interrupted("before the first step: nothing was saved");
  std::unique_ptr<RunningPlan> running;
  fail_together(alarm, patience.timeout_seconds(),
                [&] { running = std::make_unique<RunningPlan>(job, plan, alarm); });
  if (from) {
    load_checkpoint(world, waiter, nodes_of_ranks(job.machine), job.model, *from,
                    running->session());
  } else {
    collectively(world, waiter, [&] { initialise(job.config, running->session()); });
  }
  std::unique_ptr<Recorder> recorder;
  std::unique_ptr<SamplePrompts> samples;
  collectively(world, waiter, [&] {
    samples = std::make_unique<SamplePrompts>(job.config, job.model);
    recorder = std::make_unique<Recorder>(
        world, patience,
        RecordedRun{job.config, recorded(job.model), job.machine, job.instance.profile, plan,
                    RunKind::training, start_of(from), job.device.backend()});
    if (names && from && from->claimed) set_aside(from->damaged);
  });
  recorder->record_places(job.machine, running->session().groups().ways());
  const std::string directory = broadcast(world, names ? recorder->directory() : "", waiter);
  const std::string fingerprint = names ? data_fingerprint(*datasets.train, job.model) : "";
  Trainer trainer(job,
                  {patience, alarm, datasets, *recorder, stop, *samples, fingerprint, directory,
                   from ? from->path : ""},
                  std::move(running));
  phases.end("parameters and communication");
  if (names) {
    print_detail(phases.describe());
    announce_training(job.config, plan, from ? from->state.step : 0);
  }
  TrainingEnd end = TrainingEnd::done;
  const HeldInterrupts held = hold_interrupts(job.config.checkpoint);
  fail_together(alarm, patience.timeout_seconds(), [&] {
    end = trainer.run(from ? from->state.step : 0);
    recorder->finish(trainer.peak_bytes());
  });
  if (names) job.device.log_graphs();
  if (end == TrainingEnd::done) return;
  if (end == TrainingEnd::interrupted)
    throw Interrupted(fmt::format("{}{}", interrupted_by(), trainer.reached()));
  throw Error(ExitCode::stopped_early,
              fmt::format("stopped early, {}: go on with --resume latest, from {}", stop.reason(),
                          trainer.last_checkpoint().path));
}

}  // namespace

void train(MPI_Comm world, const JobOptions& options, const LayerFactory& layers) {
  PhaseTimes phases;
  Waiter waiter = preparing_waiter(world);
  const int rank = rank_in(world);
  Config config = load_config(world, waiter, options);
  const bool rehearses =
      emulation_of(world, waiter, cluster_file(options, config)) == Emulate::timing;
  if (rehearses || options.dry_run) leave_stop_signals();
  if (rehearses) {
    rehearse(world, waiter, options, config);
    return;
  }
  StopRequest stop(config.job);
  check_same_files(world, waiter, files_of_hosts(config));
  const Model model = build_model_of(config);
  // An image is one row, and is counted as one sample, whatever stands there.
  if (model.sample.is_image() || model.sample.has_drawing()) config.training.sequence_length = 1;
  if (model.sample.has_source()) config.training.source_length = model.sample.source.length;
  Datasets datasets;
  collectively(world, waiter, [&] {
    datasets = open_datasets(config, model);
    if (rank != 0) return;
    check_output_directory(config.job.output, config.where("job.output"));
    // What is wrong with the weights is said before anything is measured.
    if (starts_from_folder(config)) const ModelWeights weights(config.model.from, model);
    check_model_files(config.model.from);
    const SamplePrompts samples(config, model);
  });
  const std::optional<Resumed> from =
      find_checkpoint(world, waiter, options, config, model, *datasets.train);
  if (from && from->state.step >= config.training.steps) {
    if (rank == 0)
      log_info("All {} steps are done: nothing is left to train", config.training.steps);
    return;
  }
  phases.end("configuration and data");
  const RankDevice device = find_device(world, waiter, options, config);
  const Machine machine = find_machine(world, waiter, options, config, device);
  phases.end("machine");
  if (rank == 0) print_step(describe_machine(machine));
  const JobSetup setup = {world, waiter, options, config, model, machine, device};
  const Planned planned = plan_job(setup, from, phases);
  if (options.dry_run) {
    if (rank == 0) log_info("Dry run: stopping before training; nothing was written");
    return;
  }
  const Instance instance = {planned.profile, planned.cluster, config.training.global_batch_size,
                             ties_of(config, planned.profile)};
  const PlanJob job = {setup, instance, layers, datasets.have_padding(),
                       [&stop] { return stop.wish(); }};
  train_planned(job, datasets, planned.plans, from, stop, phases);
}

}  // namespace pptrain
