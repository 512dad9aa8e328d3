#pragma once

#include <string>

#include "config/config.hpp"
#include "cost/cost.hpp"
#include "planners/ask/planner.hpp"

namespace pptrain {

/// Scales the times of the profile by what `--calibrate` says was measured: the seconds of an
/// iteration, of the plan of
/// `[parallelism] plan` or else of the one that `planner` finds without, or the metrics.h5 or
/// folder of a run, whose plan counts. Says what changed. A run of another model, cluster or batch
/// throws `Error` (exit code 2).
void calibrate_times(const std::string& measured, const Config& config, const std::string& planner,
                     const Restrictions& restrictions, const Instance& instance, Profile& profile);

}  // namespace pptrain
