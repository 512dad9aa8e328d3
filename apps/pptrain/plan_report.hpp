#pragma once

#include "config/config.hpp"
#include "cost/cost.hpp"
#include "options.hpp"
#include "plan/plan.hpp"

namespace pptrain {

/// Writes the page of a plan, which has all that is predicted of it, to `--report`. The job is
/// planned for parts of the cluster too, for the time against nodes, unless the configuration names
/// the plan or there is one node.
void deliver_plan_report(const Options& options, const Config& config, const Plan& plan,
                         const Instance& instance);

}  // namespace pptrain
