#pragma once

#include <mpi.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/alarm.hpp"
#include "runtime/places/machine.hpp"

namespace pptrain {

/// One rank's part in the running of a plan.
class PlanRun {
 public:
  virtual ~PlanRun() = default;
  /// Seconds of one iteration. Collective.
  virtual double iterate(std::int64_t step) = 0;
  /// Most bytes that this rank's device had in use at once since the run was made.
  virtual double peak_bytes() = 0;
};

/// Makes the run of a plan from what the job starts from; it hears of ranks that gave up by the
/// alarm. Collective.
using StartRun = std::function<std::unique_ptr<PlanRun>(const Plan&, Alarm&)>;

/// What a trial needs of the job.
struct TrialJob {
  MPI_Comm world;
  Waiter& waiter;
  const Machine& machine;
  StartRun start;
};

/// A plan that was run for real, as rank 0 knows it.
struct Trial {
  Plan plan;
  std::optional<double> seconds;  ///< of an iteration; nothing when it could not be run
  std::string why_not;            ///< why it could not be run
};

/// Runs `steps` iterations of a plan from the job's first parameters and data, and throws away what
/// came of it: the last step of AMP's Algorithm 1. The time is the median of the iterations after
/// the first, on the slowest rank. A plan that fails on some rank, also because the host has no
/// memory for it, or needs more memory than a device has, is not possible; the job goes on.
/// Collective.
Trial try_plan(const TrialJob& job, const Plan& plan, std::int64_t steps);

/// Tries the plans where there are several, prints predicted beside measured on rank 0, and returns
/// the fastest one, with all of them among its alternatives. Throws exit code 3 when none could be
/// run. Collective; the plans are the same on all ranks.
Plan fastest_plan(const TrialJob& job, const std::vector<Plan>& plans, std::int64_t steps);

/// Text for people: the trials, and how well the prediction ranks them.
std::string describe_trials(const std::vector<Trial>& trials);

}  // namespace pptrain
