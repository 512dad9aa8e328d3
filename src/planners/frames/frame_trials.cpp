#include "planners/frames/frame_trials.hpp"

#include "base/infinity.hpp"
#include "base/parallel_for.hpp"

namespace pptrain {

int threads_of(const Restrictions& restrictions) {
  return restrictions.threads > 0 ? restrictions.threads : usable_cores();
}

FrameTrials::FrameTrials(const SearchSpace& space, int threads) : threads_(threads) {
  for (int t = 0; t < threads; ++t)
    simulators_.push_back(std::make_unique<PlanSimulator>(space.instance, OrderEffort::brief));
}

std::vector<TriedPlan> FrameTrials::simulated(const std::vector<Plan>& plans, double best) {
  std::vector<TriedPlan> results(plans.size());
  parallel_for(static_cast<int>(plans.size()), threads_, [&](int thread, int i) {
    results[static_cast<std::size_t>(i)] =
        simulated(*simulators_[static_cast<std::size_t>(thread)], plans[static_cast<std::size_t>(i)], best);
  });
  return results;
}

TriedPlan FrameTrials::simulated(PlanSimulator& simulator, const Plan& plan, double best) {
  if (!simulator.can(plan)) return {plan, infinity, ""};
  double work = 0.0;
  const auto tried = [&](const SimulatedPlan& result) -> TriedPlan {
    if (result.why_not.empty()) return {plan, result.iteration_seconds, "", work};
    return {plan, result.iteration_seconds, result.why_not, work, result.peak_bytes};
  };
  if (PlanSimulator::has_sketch(plan)) {
    const SimulatedPlan sketch = simulator.sketched(plan);
    work = sketch.work;
    if (!sketch.why_not.empty() || least_of_sketch * sketch.iteration_seconds >= best) return tried(sketch);
  }
  const SimulatedPlan& result = simulator.of(plan);
  work += result.work;
  return tried(result);
}

}  // namespace pptrain
