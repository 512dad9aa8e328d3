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
  double seconds = 0.0;      ///< of an iteration; infinite where the plan is too large to simulate
  std::string why_not = {};  ///< what does not fit; empty where all does
  double work = 0.0;         ///< simulated tasks, with what orders cost
  std::vector<double> peak_bytes = {};  ///< by device, where the plan does not fit
};

/// On how many threads frames and steps are simulated: as many as the restrictions say, or the
/// process has cores.
int threads_of(const Restrictions& restrictions);

/// Simulates plans on several threads, each with a simulator of its own.
class FrameTrials {
 public:
  /// Orders are searched with `effort` and kept in `orders`; the instance must outlive it.
  FrameTrials(const Instance& instance, int threads, OrderEffort effort,
              const std::shared_ptr<KnownOrders>& orders);

  /// The plans in orders that are searched, and only with less effort where the plan hardly takes
  /// less than `best` seconds.
  std::vector<TriedPlan> simulated(const std::vector<Plan>& plans, double best);

 private:
  static TriedPlan simulated(PlanSimulator& simulator, const Plan& plan, double best);

  int threads_;
  std::vector<std::unique_ptr<PlanSimulator>> simulators_;
};

}  // namespace pptrain
