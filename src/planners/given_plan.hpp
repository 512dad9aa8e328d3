#pragma once

#include "config/config.hpp"
#include "cost/cost.hpp"
#include "plan/plan.hpp"

namespace pptrain {

/// The plan of `[parallelism] plan`, checked against the instance and with everything that is
/// predicted of it. One that contradicts the instance, or does not fit in memory, throws `Error`
/// (exit codes 2 and 3).
Plan given_plan(const Config& config, const Instance& instance);
/// The plan of `[parallelism] plan` that has been read, checked against the instance and with
/// everything that is predicted of it. One that contradicts the instance, or does not fit in
/// memory, throws `Error` (exit codes 2 and 3).
Plan given_plan(Plan plan, const Config& config, const Instance& instance);

}  // namespace pptrain
