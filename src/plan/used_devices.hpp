#pragma once

#include <vector>

#include "plan/plan.hpp"

namespace pptrain {

/// For each device of the cluster, by its number, whether it has a place in the plan.
std::vector<bool> used_devices(const Plan& plan, int num_devices);

}  // namespace pptrain
