#pragma once

#include "cost/cost.hpp"
#include "schedule/schedule.hpp"

namespace pptrain {

/// What the orders go by in which a job runs the plan: as `order_options`, with the effort whose
/// orders the simulator finds fastest (`SimulatedPlan`). Full effort where the plan is too large to
/// simulate.
OrderOptions planned_order_options(const Instance& instance, const Plan& plan);

/// The programs that train the plan in these orders, transfers in the forms that cross soonest.
Programs planned_programs(const Instance& instance, const Plan& plan);

}  // namespace pptrain
