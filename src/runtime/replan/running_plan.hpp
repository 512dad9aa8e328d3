#pragma once

#include <mpi.h>

#include <functional>
#include <memory>

#include "comm/alarm.hpp"
#include "cost/cost.hpp"
#include "runtime/emulation/emulated_device.hpp"
#include "runtime/execute/session.hpp"
#include "runtime/places/job_setup.hpp"
#include "runtime/places/rank_device.hpp"

namespace pptrain {

/// What the sessions of all plans of a job have in common; everything outlives them.
struct PlanJob : JobSetup {
  const Instance& instance;
  const LayerFactory& layers;
  bool has_padding = false;                  ///< samples may end in it
  std::function<StopWish()> stop_wish = {};  ///< whether this rank wants the training to stop;
                                             ///< empty: never
};

/// One rank's session of a plan of the job, with what decorates it on emulated devices.
class RunningPlan {
 public:
  /// The session hears of ranks that gave up by the alarm. Collective.
  RunningPlan(const PlanJob& job, const Plan& plan, Alarm& alarm);
  RunningPlan(const RunningPlan&) = delete;
  RunningPlan& operator=(const RunningPlan&) = delete;

  /// The plan that runs, as a copy of its own.
  const Plan& plan() const { return plan_; }
  /// Session of this rank, which lives as long as this.
  Session& session() { return *session_; }

 private:
  Plan plan_;
  Waiter waiter_;
  std::unique_ptr<EmulatedDevice> emulated_;  ///< null where ranks are the devices that they are
  std::unique_ptr<Session> session_;
};

}  // namespace pptrain
