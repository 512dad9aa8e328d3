#include "runtime/job/rehearse.hpp"

#include <algorithm>
#include <limits>
#include <memory>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "base/log.hpp"
#include "cluster/read.hpp"
#include "comm/alarm.hpp"
#include "comm/collective.hpp"
#include "comm/fail_together.hpp"
#include "comm/mpi.hpp"
#include "io/run/run_directory.hpp"
#include "model/build/check.hpp"
#include "runtime/emulation/rehearsal.hpp"
#include "runtime/job/choose_plans.hpp"
#include "runtime/measure/obtain_profile.hpp"
#include "runtime/places/load_config.hpp"
#include "runtime/places/machine.hpp"
#include "runtime/record/recorder.hpp"
#include "runtime/replan/trials.hpp"

namespace pptrain {
namespace {

/// FLOP of a training step for each sample; 0 where only a profile of the model is known.
double flop_per_sample(const Config& config) {
  return config.can_train_model() ? build_model_of(config).flop_per_sample() : 0.0;
}

/// A rank may wait for the whole of an iteration for its first message.
double patience_seconds(const Config& config, const std::vector<Plan>& plans) {
  double longest = 0.0;
  for (const Plan& plan : plans)
    longest = std::max(longest, plan.predicted.value_or(Prediction()).iteration_seconds);
  return config.job.timeout + 2.0 * longest;
}

/// A rehearsal that is tried.
class RehearsalRun final : public PlanRun {
 public:
  explicit RehearsalRun(std::unique_ptr<Rehearsal> rehearsal) : rehearsal_(std::move(rehearsal)) {}
  double iterate(std::int64_t /*step*/) override { return rehearsal_->run(nullptr).seconds; }
  double peak_bytes() override { return static_cast<double>(rehearsal_->peak_bytes()); }

 private:
  std::unique_ptr<Rehearsal> rehearsal_;
};

void run(Rehearsal& rehearsal, Recorder& recorder, const Config& config) {
  Trace trace;  // of the last iteration
  for (std::int64_t step = 0; step < config.training.steps; ++step) {
    const IterationResult result = rehearsal.run(config.metrics.trace ? &trace : nullptr);
    recorder.record(step, result, 0.0, rehearsal.peak_bytes());
  }
  if (config.metrics.trace) recorder.write_trace(trace);
}

}  // namespace

void rehearse(MPI_Comm world, Waiter& waiter, const JobOptions& options, const Config& config) {
  const int rank = rank_in(world);
  if (!options.resume.empty()) {
    throw_bad_input(
        {"--resume", "a rehearsal has no checkpoints", "it moves no numbers", "leave it out"});
  }
  collectively(world, waiter, [&] {
    if (rank == 0) check_output_directory(config.job.output, config.where("job.output"));
  });
  const Machine machine = find_machine(world, waiter, options, config);
  if (rank == 0)
    print_step("Cluster, every device played by a rank\n" + describe_cluster(machine.cluster) +
               "\n");
  const Profile profile = profile_without_machine(world, waiter, options, config, machine);
  const std::vector<Plan> plans = choose_plans(world, waiter, {options, config, machine, profile});
  if (options.dry_run) {
    if (rank == 0) log_info("Dry run: stopping before the rehearsal; nothing was written");
    return;
  }
  Alarm alarm(world);
  Waiter patience(patience_seconds(config, plans), machine.core_use);
  patience.listen(&alarm);
  const Instance instance = {profile, machine.cluster, config.training.global_batch_size,
                             ties_of(config, profile)};
  const StartRun try_out = [&](const Plan& tried, Alarm&) {
    return std::make_unique<RehearsalRun>(
        std::make_unique<Rehearsal>(world, instance, tried, machine.map, patience));
  };
  const Plan plan =
      fastest_plan({world, patience, machine, try_out}, plans, config.planner.trial_steps);
  Rehearsal rehearsal(world, instance, plan, machine.map, patience);
  std::unique_ptr<Recorder> recorder;
  collectively(world, waiter, [&] {
    recorder = std::make_unique<Recorder>(
        world, patience,
        RecordedRun{config, {flop_per_sample(config)}, machine, profile, plan, RunKind::rehearsal});
  });
  tell_if_interrupted("while rehearsing: the steps so far are in the run directory");
  recorder->record_places(machine);
  fail_together(alarm, patience.timeout_seconds(), [&] {
    run(rehearsal, *recorder, config);
    recorder->finish(rehearsal.peak_bytes());
  });
}

}  // namespace pptrain
