#pragma once

#include "planners/judge/planned_orders.hpp"
#include "program/check.hpp"
#include "simulate/simulate.hpp"

namespace pptrain {

/// What `pptrain simulate` would say of the plan.
inline Simulation simulation_of(const Instance& instance, const Plan& plan) {
  const Programs programs = planned_programs(instance, plan);
  check_programs(plan, programs);
  return simulate(instance, plan, programs);
}

}  // namespace pptrain
