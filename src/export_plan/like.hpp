#pragma once

#include <memory>

#include "config/config.hpp"
#include "planners/ask/plan_rule.hpp"

namespace pptrain {

/// What the trainer of `[parallelism] like` runs of plans of the job; null where that is pptrain. A
/// job of which the trainer cannot be told throws `Error` (exit code 2).
std::shared_ptr<const PlanRule> rule_of_trainer(const Config& config);

}  // namespace pptrain
