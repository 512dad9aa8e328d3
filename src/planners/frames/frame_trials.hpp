#pragma once

#include <memory>
#include <string>
#include <vector>

#include "planners/ask/planner.hpp"
#include "planners/ask/restrictions.hpp"
#include "planners/judge/simulated_plan.hpp"

namespace pptrain {

/// A plan that was simulated.
struct TriedPlan {
  Plan plan;
  double seconds = 0.0;                 ///< of an iteration; infinite where the plan is too large to simulate
  std::string why_not = {};             ///< what does not fit; empty where all does
  double work = 0.0;                    ///< simulated tasks, with what orders cost
  std::vector<double> peak_bytes = {};  ///< by device, where the plan does not fit
};

/// What the search for an order may take off a sketch, as a factor of its seconds.
constexpr double least_of_sketch = 0.95;

/// On how many threads frames and steps are simulated: as many as the restrictions say, or the process has cores.
int threads_of(const Restrictions& restrictions);

/// Simulates plans on several threads, each with a simulator of its own.
class FrameTrials {
 public:
  FrameTrials(const SearchSpace& space, int threads);

  /// The plans in their order, which is searched briefly. Orders are searched of those alone whose sketch takes hardly
  /// longer than `best`, in seconds, or less.
  std::vector<TriedPlan> simulated(const std::vector<Plan>& plans, double best);

 private:
  static TriedPlan simulated(PlanSimulator& simulator, const Plan& plan, double best);

  int threads_;
  std::vector<std::unique_ptr<PlanSimulator>> simulators_;
};

}  // namespace pptrain
