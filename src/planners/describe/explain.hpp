#pragma once

#include <string>

#include "plan/plan.hpp"

namespace pptrain {

/// Why another plan lost: its shape and the parts of the time in which it differs most from the
/// best one, or that it is the same plan; for instance "PP 1 x DP 16 x TP 1: gradient
/// synchronization +1.2 s, compute -40 ms". Both have `predicted`.
std::string why_slower(const Plan& best, const Plan& other);

}  // namespace pptrain
