// Simulated annealing, which looks for a faster plan than the one at hand (Kirkpatrick et al.,
// "Optimization by simulated annealing", Science 1983).
//
//   annealing_benchmark JOB.toml PLAN.json SECONDS [SEED]
//
// Walks from the plan by steps of all kinds that planner `auto` knows, drawn at random, and takes
// one that makes the plan slower the less often the later it is. Simulated iterations of a walk are
// those of brief orders; the fastest plans of it are then simulated in the orders of a job. Prints
// a line: seconds of the plan, of the best one, and how many were simulated; and writes the best
// one to the standard error stream where it is faster.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <random>

#include "base/infinity.hpp"
#include "planners/ask/restrictions.hpp"
#include "planners/frames/neighbours.hpp"
#include "planners/judge/simulated_plan.hpp"
#include "planners/planning_job.hpp"

namespace {

using namespace pptrain;

constexpr double first_temperature = 0.02;  // of the iteration: so much slower a step is taken one
                                            // time in e ...
constexpr double last_temperature = 1e-4;   // ... at first, and at last
constexpr std::size_t num_finalists = 8;

std::vector<Plan> shifted_over_cuts(const SearchSpace& space, const Plan& plan) {
  constexpr int most_cuts = 8;
  return shifted_layers(space, plan, most_cuts);
}

using Steps = std::vector<Plan> (*)(const SearchSpace&, const Plan&);
/// Kinds of steps, those of cuts several times, since cuts are most of what a plan has.
constexpr Steps kinds_of_steps[] = {
    shifted_over_cuts, shifted_over_cuts, shifted_over_cuts, shifted_pairs,   shifted_pairs,
    changed_rounds,    other_modes,       other_modes,       other_schedules, other_micro_batches,
    shifted_samples,   exchanged_devices, fewer_devices,     more_devices,    sent_rows,
    shifted_experts,   other_offloads};

class Annealing {
 public:
  Annealing(const SearchSpace& space, const Plan& plan, unsigned seed)
      : space_(space), simulator_(space.instance, OrderEffort::brief), random_(seed), plan_(plan) {
    seconds_ = seconds_of(plan_);
    keep(plan_, seconds_);
  }

  /// Walks for so many seconds.
  void run(double seconds) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    for (;;) {
      const double past = std::chrono::duration<double>(Clock::now() - begin).count() / seconds;
      if (past >= 1.0) return;
      step(first_temperature * std::pow(last_temperature / first_temperature, past));
    }
  }

  /// The fastest of the walk in the orders of a job, and its seconds.
  std::pair<Plan, double> best() const {
    PlanSimulator exact(space_.instance);
    std::pair<Plan, double> best = {plan_, infinity};
    for (const auto& [plan, brief] : fastest_) {
      const SimulatedPlan& result = exact.of(plan);
      if (result.why_not.empty() && result.iteration_seconds < best.second)
        best = {plan, result.iteration_seconds};
    }
    return best;
  }
  int num_simulated() const { return num_simulated_; }

 private:
  /// Infinity where it does not fit.
  double seconds_of(const Plan& plan) {
    if (!simulator_.can(plan)) return infinity;
    ++num_simulated_;
    const SimulatedPlan& result = simulator_.of(plan);
    return result.why_not.empty() ? result.iteration_seconds : infinity;
  }

  void step(double temperature) {
    const Steps steps = kinds_of_steps[random_() % std::size(kinds_of_steps)];
    const std::vector<Plan> others = steps(space_, plan_);
    if (others.empty()) return;
    const Plan& other = others[random_() % others.size()];
    if (!obeys_rules(space_, other)) return;
    const double seconds = seconds_of(other);
    const double chance = std::exp((seconds_ - seconds) / (temperature * seconds_));
    if (std::uniform_real_distribution<double>()(random_) >= chance) return;
    plan_ = other;
    seconds_ = seconds;
    keep(plan_, seconds_);
  }

  void keep(const Plan& plan, double seconds) {
    const auto same = [&plan](const auto& one) { return same_plan(one.first, plan); };
    if (std::any_of(fastest_.begin(), fastest_.end(), same)) return;
    fastest_.emplace_back(plan, seconds);
    std::stable_sort(fastest_.begin(), fastest_.end(),
                     [](const auto& a, const auto& b) { return a.second < b.second; });
    if (fastest_.size() > num_finalists) fastest_.pop_back();
  }

  const SearchSpace& space_;
  PlanSimulator simulator_;
  std::mt19937 random_;
  Plan plan_;
  double seconds_ = 0.0;
  std::vector<std::pair<Plan, double>> fastest_;
  int num_simulated_ = 0;
};

}  // namespace

int main(int count, char** words) {
  if (count < 4) {
    std::cerr << "usage: annealing_benchmark JOB.toml PLAN.json SECONDS [SEED]\n";
    return 2;
  }
  try {
    const PlanningJob job(words[1]);
    const Restrictions restrictions = restrictions_of(job.config);
    const Instance instance = {job.profile, job.cluster, job.config.training.global_batch_size};
    const SearchSpace space = {instance, restrictions, restrictions.schedule};
    const Plan given = read_plan(words[2]);
    const double own = PlanSimulator(instance).of(given).iteration_seconds;
    Annealing annealing(space, given, count > 4 ? static_cast<unsigned>(std::stoul(words[4])) : 1U);
    annealing.run(std::stod(words[3]));
    const auto [plan, seconds] = annealing.best();
    std::cout << fmt::format("{:.6g} {:.6g} {}\n", own, seconds, annealing.num_simulated());
    if (seconds < own) std::cerr << write_plan(plan);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
