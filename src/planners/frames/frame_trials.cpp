#include "planners/frames/frame_trials.hpp"

#include "base/infinity.hpp"
#include "base/parallel_for.hpp"

namespace pptrain {

int threads_of(const Restrictions& restrictions) {
  return restrictions.threads > 0 ? restrictions.threads : usable_cores();
}

FrameTrials::FrameTrials(const Instance& instance, int threads, OrderEffort effort,
                         const std::shared_ptr<KnownOrders>& orders)
    : threads_(threads) {
  for (int t = 0; t < threads; ++t)
    simulators_.push_back(std::make_unique<PlanSimulator>(instance, effort, orders));
}

std::vector<TriedPlan> FrameTrials::simulated(const std::vector<Plan>& plans, double best) {
  std::vector<TriedPlan> results(plans.size());
  parallel_for(static_cast<int>(plans.size()), threads_, [&](int thread, int i) {
    results[static_cast<std::size_t>(i)] = simulated(*simulators_[static_cast<std::size_t>(thread)],
                                                     plans[static_cast<std::size_t>(i)], best);
  });
  return results;
}

TriedPlan FrameTrials::simulated(PlanSimulator& simulator, const Plan& plan, double best) {
  if (!simulator.can(plan)) return {plan, infinity, ""};
  const SimulatedPlan result = simulator.against(plan, best);
  if (result.why_not.empty()) return {plan, result.iteration_seconds, "", result.work};
  return {plan, result.iteration_seconds, result.why_not, result.work, result.peak_bytes};
}

}  // namespace pptrain
