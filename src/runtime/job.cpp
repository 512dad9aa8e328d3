#include "runtime/job.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "cluster/read.hpp"
#include "comm/alarm.hpp"
#include "comm/collective.hpp"
#include "comm/mpi.hpp"
#include "cost/transfer_forms.hpp"
#include "io/parameters.hpp"
#include "io/run_directory.hpp"
#include "plan/match.hpp"
#include "runtime/datasets.hpp"
#include "runtime/execute/executable.hpp"
#include "runtime/execute/recorder.hpp"
#include "runtime/execute/session.hpp"
#include "runtime/profiler.hpp"
#include "runtime/rehearse.hpp"
#include "runtime/replan/change_plan.hpp"
#include "runtime/replan/drift.hpp"
#include "runtime/replan/trials.hpp"

namespace pptrain {
namespace {

/// The training samples of a step.
SampleSource samples_of(const Datasets& datasets, std::int64_t step) {
  return [&datasets, step](std::int64_t sample, const SampleSlot& slot) { datasets.train->sample(step, sample, slot); };
}

/// Whether it throws `Error`.
bool fails(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error&) {
    return true;
  }
  return false;
}

/// Batches that one evaluation takes at most.
constexpr std::int64_t most_batches = 8;

/// The parameters that the job starts from.
void initialise(const Config& config, Session& session) {
  if (session.device() == nullptr) return;
  DeviceModel& device = *session.device();
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
  double peak_bytes() override { return static_cast<double>(running_->session().arena().peak_bytes()); }

 private:
  std::unique_ptr<RunningPlan> running_;
  const Datasets& datasets_;
};

/// The job of one rank from the plan on.
class Trainer {
 public:
  Trainer(const PlanJob& job, Waiter& waiter, Alarm& alarm, const Datasets& datasets, Recorder& recorder,
          std::unique_ptr<RunningPlan> running)
      : job_(job),
        config_(job.config),
        waiter_(waiter),
        alarm_(alarm),
        datasets_(datasets),
        recorder_(recorder),
        drift_(job.world, waiter, job.config, job.machine, job.instance.profile, recorder) {
    take(std::move(running));
  }

  std::size_t peak_bytes() const { return std::max(past_peak_bytes_, session_->arena().peak_bytes()); }

  void run() {
    for (std::int64_t step = 0; step < config_.training.steps; ++step) {
      const IterationResult result = session_->train(step, samples_of(datasets_, step));
      recorder_.record(step, result, session_->learning_rate_of(step), peak_bytes());
      if (!std::isfinite(result.loss)) {
        // Every rank knows the loss, so all leave here.
        throw Error(ExitCode::other,
                    format_complaint({fmt::format("step {}", step + 1), "the loss is no number any more",
                                      "the training diverged", "lower [optimizer] learning_rate"}));
      }
      if (evaluates_after(step)) recorder_.record_evaluation(step, evaluate());
      if (const std::optional<Plan> plan = drift_.after(step, result)) go_on_with(*plan, step);
    }
    if (config_.metrics.trace) recorder_.write_trace(trace_);
  }

 private:
  void take(std::unique_ptr<RunningPlan> running) {
    running_ = std::move(running);
    session_ = &running_->session();
    if (config_.metrics.trace) session_->record(&trace_);
    drift_.restart(running_->plan());
  }

  void go_on_with(const Plan& plan, std::int64_t step) {
    std::unique_ptr<RunningPlan> next = change_plan(job_, waiter_, alarm_, plan, *running_);
    if (next == nullptr) return;
    // Both hold their parts for a moment.
    past_peak_bytes_ =
        std::max(peak_bytes(), session_->arena().bytes_in_use() + next->session().arena().bytes_in_use());
    take(std::move(next));
    recorder_.record_plan(step, plan);
  }

  bool evaluates_after(std::int64_t step) const {
    if (datasets_.validation == nullptr) return false;
    const std::int64_t interval = config_.metrics.evaluation_interval;
    return step + 1 == config_.training.steps || (interval > 0 && (step + 1) % interval == 0);
  }

  /// Mean loss over whole batches from the start of the held-back data.
  double evaluate() {
    const std::int64_t batch = config_.training.global_batch_size;
    const std::int64_t batches = std::clamp<std::int64_t>(datasets_.validation->num_windows() / batch, 1, most_batches);
    double sum = 0.0;
    for (std::int64_t b = 0; b < batches; ++b) {
      sum += session_->evaluate(
          [&](std::int64_t sample, const SampleSlot& slot) { datasets_.validation->window(b * batch + sample, slot); });
    }
    return sum / static_cast<double>(batches);
  }

  const PlanJob& job_;
  const Config& config_;
  Waiter& waiter_;
  Alarm& alarm_;
  const Datasets& datasets_;
  Recorder& recorder_;
  Drift drift_;
  std::unique_ptr<RunningPlan> running_;
  Session* session_ = nullptr;       ///< of `running_`
  std::size_t past_peak_bytes_ = 0;  ///< of sessions of other plans
  Trace trace_;                      ///< of the last iteration
};

}  // namespace

void train(MPI_Comm world, const JobOptions& options, const LayerFactory& layers) {
  Waiter waiter = make_waiter(world);
  const int rank = rank_in(world);
  const Config config = load_config(world, waiter, options);
  if (emulation_of(world, waiter, cluster_file(options, config)) == Emulate::timing) {
    rehearse(world, waiter, options, config);
    return;
  }
  const Model model = build_model(config.model, config.training, config.source);
  Datasets datasets;
  collectively(world, waiter, [&] {
    datasets = open_datasets(config);
    if (rank == 0) check_output_directory(config.job.output, config.where("job.output"));
  });
  const Machine machine = find_machine(world, waiter, cluster_file(options, config));
  if (rank == 0) print_result("Cluster\n" + describe_cluster(machine.cluster) + "\n");
  const std::optional<Plan> named = named_plan(world, waiter, config, model, machine);
  if (!named) collectively(world, waiter, [&] { check_parallelism(config, model, machine.cluster); });
  const Profile profile = obtain_profile(world, waiter, options, config, model, machine, named);
  std::vector<Plan> plans = choose_plans(world, waiter, config, machine, profile);
  // A profile from a file may have degrees that the model has not.
  const auto check = [&](const Plan& plan) {
    check_plan_matches(plan, model, machine.cluster, config.training.global_batch_size, "the plan that was found");
    check_blocks_executable(plan, model, "the plan that was found");
  };
  check(plans.front());
  std::erase_if(plans, [&](const Plan& plan) { return fails([&] { check(plan); }); });
  if (options.dry_run) {
    if (rank == 0) log_info("Dry run: stopping before training; nothing was written");
    return;
  }
  // From here on no rank takes long, so that the configured timeout holds.
  Alarm alarm(world);
  Waiter patience(config.job.timeout, machine.core_use);
  patience.listen(&alarm);
  patience.name_place([rank] { return fmt::format("rank {}", rank); });
  const Instance instance = {profile, machine.cluster, config.training.global_batch_size,
                             tied_embedding(config, profile)};
  const PlanJob job = {world, config, model, machine, instance, layers};
  const StartRun try_out = [&](const Plan& tried, Alarm& heard) {
    auto running = std::make_unique<RunningPlan>(job, tried, heard);
    initialise(config, running->session());
    return std::make_unique<SessionRun>(std::move(running), datasets);
  };
  const Plan plan = fastest_plan({world, patience, machine, try_out}, plans, config.planner.trial_steps);
  std::unique_ptr<Recorder> recorder;
  collectively(world, waiter, [&] {
    recorder = std::make_unique<Recorder>(world, patience, config, model.flop_per_sample(), machine, profile, plan);
  });
  recorder->record_places(machine);
  auto running = std::make_unique<RunningPlan>(job, plan, alarm);
  collectively(world, waiter, [&] { initialise(config, running->session()); });
  Trainer trainer(job, patience, alarm, datasets, *recorder, std::move(running));
  trainer.run();
  recorder->finish(trainer.peak_bytes());
}

}  // namespace pptrain
