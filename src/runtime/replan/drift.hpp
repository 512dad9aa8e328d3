#pragma once

#include <mpi.h>

#include <map>
#include <optional>
#include <vector>

#include "config/config.hpp"
#include "runtime/execute/executor.hpp"
#include "runtime/places/machine.hpp"
#include "runtime/record/recorder.hpp"
#include "runtime/replan/drift_watch.hpp"

namespace pptrain {

/// Watches what ranks compute, names those that fall behind, and plans again where the
/// configuration asks for it.
class Drift {
 public:
  /// `profile` must outlive it.
  Drift(MPI_Comm world, Waiter& waiter, const Config& config, const Machine& machine,
        const Profile& profile, Recorder& recorder);

  /// A plan begins.
  void restart(const Plan& plan);

  /// After each step of training; a plan when the job is to go on with another one. Collective.
  std::optional<Plan> after(std::int64_t step, const IterationResult& result);

  /// Says of each rank that was behind in several windows in how many: it is named only in the
  /// first.
  void summarise() const;

 private:
  /// A rank that was behind.
  struct Behind {
    std::int64_t windows = 0;
    double largest_factor = 1.0;
  };

  std::optional<Plan> end_window(std::int64_t step);
  void tell(std::int64_t step, const std::vector<DriftingRank>& drifting);
  bool worth_planning(const std::vector<DriftingRank>& drifting) const;
  std::string plan_again(std::int64_t step, const std::vector<DriftingRank>& drifting);

  MPI_Comm world_;
  Waiter& waiter_;
  const Config& config_;
  const Machine& machine_;
  const Profile& profile_;
  Recorder& recorder_;
  DriftWatch watch_;
  Plan plan_;
  bool warming_up_ = true;  ///< the first step of a plan touches everything for the first time
  std::vector<double> compute_seconds_;  ///< of this rank in this window
  std::vector<double> iteration_seconds_;
  std::map<DeviceId, double> slowdowns_;  ///< against the profile, of the present plan; rank 0's,
                                          ///< as is the next
  std::map<int, double> planned_for_;     ///< factor by rank when it was last planned
  std::map<int, Behind> behind_;          ///< by rank; rank 0's
  std::int64_t windows_ = 0;              ///< of all plans
};

}  // namespace pptrain
