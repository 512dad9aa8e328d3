#pragma once

#include <string>

#include "plan/plan.hpp"

namespace pptrain {

/// The checks of `validate_plan` that need neither model nor cluster.
void validate_plan_alone(const Plan& plan, const std::string& source);

}  // namespace pptrain
