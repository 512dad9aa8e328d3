#include "planners/judge/fit_check.hpp"

#include <algorithm>

namespace pptrain {

FitCheck::FitCheck(const Instance& instance, PlanSimulator& simulator)
    : instance_(instance),
      simulator_(simulator),
      unforeseen_(instance.cluster.device_kinds.size(), 0.0) {}

bool FitCheck::accepts(const Plan& plan) {
  if (!simulator_.can(plan)) return true;
  const SimulatedPlan& simulated = simulator_.of(plan);
  if (simulated.why_not.empty()) return true;
  ++num_refused_;
  nearest_.take(instance_, plan, simulated.peak_bytes);
  const std::vector<double> foreseen = memory_bytes(instance_, plan);
  for (std::size_t d = 0; d < foreseen.size(); ++d) {
    const DeviceId device(static_cast<int>(d));
    if (simulated.peak_bytes[d] <= instance_.cluster.kind_of(device).memory) continue;
    double& unforeseen = unforeseen_[instance_.cluster.kind_index_of(device)];
    unforeseen = std::max(unforeseen, simulated.peak_bytes[d] - foreseen[d]);
  }
  return false;
}

}  // namespace pptrain
