#pragma once

#include "plan/plan.hpp"

namespace pptrain {

/// Costs the plan on a fixed instance of four layers and eight devices, and simulates it where it
/// is small: it is refused with `Error`, or everything that is predicted of it is a finite number
/// that is not negative.
void check_costs(const Plan& plan);

}  // namespace pptrain
