#pragma once

#include <string>
#include <vector>

#include "planners/ask/planner.hpp"
#include "planners/divide/least_overrun.hpp"
#include "planners/judge/simulated_plan.hpp"

namespace pptrain {

/// Asks the simulator whether plans fit, and remembers what it refused.
class FitCheck : public PlanCheck {
 public:
  /// `instance` and `simulator` must outlive it; the simulator is one of the instance.
  FitCheck(const Instance& instance, PlanSimulator& simulator);

  /// Whether the plan fits on every device in the simulator, as a plan that is too large to
  /// simulate does.
  bool accepts(const Plan& plan) override;

  PlanSimulator& simulator() override { return simulator_; }
  int num_refused() const { return num_refused_; }  ///< how often `accepts` was false
  /// The most bytes that a device of each kind of the cluster, where a refused plan lacked memory,
  /// held beyond what the closed form says of that plan.
  const std::vector<double>& unforeseen_bytes() const { return unforeseen_; }
  /// The refused plan that is nearest to fitting, and by how much it does not; "" where none was
  /// refused.
  const std::string& nearest() const { return nearest_.text(); }

 private:
  const Instance& instance_;
  PlanSimulator& simulator_;
  std::vector<double> unforeseen_;
  LeastOverrun nearest_;
  int num_refused_ = 0;
};

}  // namespace pptrain
