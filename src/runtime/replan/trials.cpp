#include "runtime/replan/trials.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/names.hpp"
#include "base/screen.hpp"
#include "base/text_table.hpp"
#include "base/timing.hpp"
#include "base/units.hpp"
#include "comm/collective.hpp"
#include "comm/fail_together.hpp"
#include "comm/mpi.hpp"
#include "cost/cost.hpp"
#include "planners/judge/rank_correlation.hpp"
#include "runtime/display/progress.hpp"

namespace pptrain {
namespace {

/// Why work that communicates failed on all ranks; "" when it did not. Where a rank does not
/// answer, the job ends. Collective.
std::string failure_of(const TrialJob& job, Alarm& alarm, const std::function<void()>& work) {
  try {
    fail_together(alarm, job.waiter.timeout_seconds(), work);
  } catch (const Error& error) {
    if (error.thrown_by() == ThrownBy::this_rank) throw;
    return error.what();
  }
  return "";
}

/// What the fullest device lacks; "" where every rank stayed within its device's memory. Rank 0
/// knows.
std::string overrun(const TrialJob& job, PlanRun& run) {
  const std::vector<double> peaks =
      gather(job.world, std::vector<double>{run.peak_bytes()}, job.waiter);
  std::vector<double> need;
  for (std::size_t d = 0; d < peaks.size(); ++d)
    need.push_back(peaks[job.machine.map.rank_of(DeviceId(d)).index()]);
  return need.empty() ? "" : largest_overrun(job.machine.cluster, need);
}

std::string micro_batches_of(const Plan& plan) {
  return fmt::format("{} micro-batch{} of {}", plan.micro_batches,
                     plan.micro_batches == 1 ? "" : "es", plan.micro_batch_size);
}

double predicted_seconds(const Plan& plan) {
  return plan.predicted ? plan.predicted->iteration_seconds : 0.0;
}

}  // namespace

Trial try_plan(const TrialJob& job, const Plan& plan, std::int64_t steps) {
  Alarm alarm(job.world);
  Trial trial;
  trial.plan = plan;
  std::unique_ptr<PlanRun> run;
  std::vector<double> seconds;
  trial.why_not = failure_of(job, alarm, [&] {
    run = job.start(plan, alarm);
    for (std::int64_t step = 0; step < steps; ++step) {
      const double taken = run->iterate(step);
      if (step > 0 || steps == 1) seconds.push_back(taken);
    }
  });
  // Messages that were on their way are through, or taken back, before the memory of any rank goes.
  quiet_barrier(job.world, job.waiter);
  if (!trial.why_not.empty()) return trial;
  trial.why_not = overrun(job, *run);
  const std::vector<double> medians =
      gather(job.world, std::vector<double>{median(seconds)}, job.waiter);
  if (trial.why_not.empty() && !medians.empty())
    trial.seconds = *std::max_element(medians.begin(), medians.end());
  return trial;
}

std::string describe_trials(const std::vector<Trial>& trials) {
  Rows rows = {{"trial", "schedule", "micro-batches", "predicted", "measured"}};
  std::vector<double> predicted;
  std::vector<double> measured;
  for (const Trial& trial : trials) {
    rows.push_back(
        {trial.plan.shape(), trial.plan.schedule.name,
         fmt::format("{} of {}", trial.plan.micro_batches, trial.plan.micro_batch_size),
         format_seconds(predicted_seconds(trial.plan)),
         trial.seconds ? format_seconds(*trial.seconds) : "not possible: " + trial.why_not});
    if (!trial.seconds) continue;
    predicted.push_back(predicted_seconds(trial.plan));
    measured.push_back(*trial.seconds);
  }
  std::string text = align(rows);
  const auto correlation =
      predicted.size() < 3 ? std::nullopt : rank_correlation(predicted, measured);
  if (correlation)
    text += fmt::format("  rank correlation of predicted and measured: {:.2f}\n", *correlation);
  return text;
}

namespace {

/// The fastest plan, told of all trials. Of rank 0.
Plan chosen_of(const std::vector<Trial>& trials) {
  const Trial* best = nullptr;
  for (const Trial& trial : trials) {
    if (trial.seconds && (best == nullptr || *trial.seconds < *best->seconds)) best = &trial;
  }
  if (best == nullptr) {
    throw_no_feasible_plan(
        {"trials", "no plan could be run", trials.front().why_not,
         "use more or larger devices, a smaller model or a smaller micro-batch"});
  }
  Plan plan = best->plan;
  plan.alternatives = trials.front().plan.alternatives;  // of the search
  for (const Trial& trial : trials) {
    Alternative& tried = plan.alternatives.emplace_back();
    tried.planner = Alternative::tried;
    tried.iteration_seconds = predicted_seconds(trial.plan);
    tried.feasible = trial.seconds.has_value();
    tried.why_not = fmt::format("{}, {}, {}{}", trial.plan.shape(), trial.plan.schedule.name,
                                micro_batches_of(trial.plan),
                                trial.why_not.empty() ? "" : ": " + trial.why_not);
    tried.measured_seconds = trial.seconds;
  }
  return plan;
}

/// The plan that is kept, as text, and why its trial took longer than simulated where that is
/// known.
std::string kept_text(const Plan& plan, const Cluster& cluster) {
  constexpr double far_off = 1.25;
  const double measured = *trial_seconds(plan);
  const double predicted = predicted_seconds(plan);
  std::string text = fmt::format("kept: {}, {}, {}: {} in its trial, {} by simulation",
                                 plan.shape(), plan.schedule.name, micro_batches_of(plan),
                                 format_seconds(measured), format_seconds(predicted));
  const bool shares = std::any_of(cluster.groups.begin(), cluster.groups.end(),
                                  [](const NodeGroup& group) { return group.shares_cores(); });
  if (shares && measured > far_off * predicted)
    text += ", which does not see all that ranks wait for their turn on a core";
  return "  " + wrapped(text, screen_columns() - 2, "  ") + "\n";
}

}  // namespace

Plan fastest_plan(const TrialJob& job, const std::vector<Plan>& plans, std::int64_t steps) {
  if (plans.size() == 1) return plans.front();
  const bool prints = rank_in(job.world) == 0;
  std::vector<Trial> trials;
  if (prints) log_info("Trials: {} plans run {} steps each", plans.size(), steps);
  double told = wall_seconds();
  const double start = told;
  for (const Plan& plan : plans) {
    const double now = wall_seconds();
    if (prints && now - told >= plain_period(now - start)) {
      log_info("Trial {} of {}: {}, {}", trials.size() + 1, plans.size(), plan.shape(),
               plan.schedule.name);
      told = now;
    }
    trials.push_back(try_plan(job, plan, steps));
  }
  std::string chosen;
  collectively(job.world, job.waiter, [&] {
    if (!prints) return;
    print_step(describe_trials(trials));
    const Plan plan = chosen_of(trials);
    print_step(kept_text(plan, job.machine.cluster));
    chosen = write_plan(plan);
  });
  return parse_plan(broadcast(job.world, chosen, job.waiter), "the plan");
}

}  // namespace pptrain
