#include "planners/frames/frame_trials.hpp"

#include <numeric>

#include "base/infinity.hpp"
#include "base/parallel_for.hpp"
#include "planners/frames/neighbours.hpp"

namespace pptrain {

FrameTrials::FrameTrials(const SearchSpace& space, int threads) : space_(space), threads_(threads) {
  for (int t = 0; t < threads; ++t) simulators_.push_back(std::make_unique<PlanSimulator>(space.instance));
}

std::vector<TriedPlan> FrameTrials::simulated(const std::vector<Plan>& plans) {
  std::vector<TriedPlan> results(plans.size());
  parallel_for(static_cast<int>(plans.size()), threads_, [&](int thread, int i) {
    results[static_cast<std::size_t>(i)] =
        simulated(*simulators_[static_cast<std::size_t>(thread)], plans[static_cast<std::size_t>(i)]);
  });
  return results;
}

TriedPlan FrameTrials::simulated(PlanSimulator& simulator, const Plan& plan) {
  if (!simulator.can(plan)) return {plan, infinity, ""};
  const double work = simulator.cost(plan);
  const SimulatedPlan& result = simulator.of(plan);
  if (result.why_not.empty()) return {plan, result.iteration_seconds, "", work};
  return {plan, result.iteration_seconds, result.why_not, work, result.peak_bytes};
}

std::int64_t FrameTrials::polish(std::vector<TriedPlan>& plans) {
  std::vector<std::int64_t> counts(plans.size(), 0);
  parallel_for(static_cast<int>(plans.size()), threads_, [&](int thread, int i) {
    counts[static_cast<std::size_t>(i)] =
        polish(*simulators_[static_cast<std::size_t>(thread)], plans[static_cast<std::size_t>(i)]);
  });
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

/// A step is judged in the order of the plan that it starts from, and again in an order of its own where it helps.
std::int64_t FrameTrials::polish(PlanSimulator& simulator, TriedPlan& plan) const {
  constexpr double worth_it = 1.0 - 1e-6;
  std::int64_t count = 0;
  for (bool any = true; any;) {
    any = false;
    for (const Plan& other : shifted_layers(space_, plan.plan, most_cuts)) {
      if (space_.stop.requested() || count == most_polishing) return count;
      ++count;
      const SimulatedPlan step = simulator.in_order_of(plan.plan, other);
      if (!step.why_not.empty() || step.iteration_seconds >= plan.seconds * worth_it) continue;
      TriedPlan tried = simulated(simulator, other);
      if (!tried.why_not.empty() || tried.seconds >= plan.seconds * worth_it) continue;
      plan = std::move(tried);
      any = true;
      break;
    }
  }
  return count;
}

}  // namespace pptrain
