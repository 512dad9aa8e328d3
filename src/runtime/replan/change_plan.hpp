#pragma once

#include <memory>

#include "runtime/replan/running_plan.hpp"

namespace pptrain {

/// A session of the plan with the training state of the present one, and says what moved; null
/// where it could not be made on some rank: then the job goes on as it is. Collective.
std::unique_ptr<RunningPlan> change_plan(const PlanJob& job, Waiter& waiter, Alarm& alarm,
                                         const Plan& plan, RunningPlan& present);

}  // namespace pptrain
