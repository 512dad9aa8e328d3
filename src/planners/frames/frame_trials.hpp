#pragma once

#include <memory>
#include <string>
#include <vector>

#include "planners/ask/planner.hpp"
#include "planners/judge/simulated_plan.hpp"

namespace pptrain {

/// A plan that was simulated.
struct TriedPlan {
  Plan plan;
  double seconds = 0.0;                 ///< of an iteration; infinite where the plan is too large to simulate
  std::string why_not;                  ///< what does not fit; empty where all does
  double work = 0.0;                    ///< simulated tasks, with what orders cost
  std::vector<double> peak_bytes = {};  ///< by device, where the plan does not fit
};

/// Simulates plans on several threads, each with a simulator of its own.
class FrameTrials {
 public:
  FrameTrials(const SearchSpace& space, int threads);

  /// The plans in their order.
  std::vector<TriedPlan> simulated(const std::vector<Plan>& plans);
  /// Improves each plan for itself by single layers over up to `most_cuts` cuts, with `most_polishing` simulations at
  /// most. Returns how many there were of all.
  std::int64_t polish(std::vector<TriedPlan>& plans);

 private:
  static constexpr int most_polishing = 300;
  static constexpr int most_cuts = 8;

  static TriedPlan simulated(PlanSimulator& simulator, const Plan& plan);
  std::int64_t polish(PlanSimulator& simulator, TriedPlan& plan) const;

  const SearchSpace& space_;
  int threads_;
  std::vector<std::unique_ptr<PlanSimulator>> simulators_;
};

}  // namespace pptrain
