#include "planners/frames/frame_trials.hpp"

#include "base/infinity.hpp"
#include "base/parallel_for.hpp"

namespace pptrain {

FrameTrials::FrameTrials(const SearchSpace& space, int threads) : threads_(threads) {
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
  const double work = simulator.cost_anew(plan);  // whatever this thread's simulator knows
  const SimulatedPlan& result = simulator.of(plan);
  if (result.why_not.empty()) return {plan, result.iteration_seconds, "", work};
  return {plan, result.iteration_seconds, result.why_not, work, result.peak_bytes};
}

}  // namespace pptrain
