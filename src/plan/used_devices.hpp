#pragma once

#include <vector>

#include "plan/plan.hpp"

namespace pptrain {

/// Which of the cluster's devices have a place in the plan.
std::vector<bool> used_devices(const Plan& plan, int num_devices);

}  // namespace pptrain
