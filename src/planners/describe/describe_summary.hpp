#pragma once

#include <string>

#include "cluster/cluster.hpp"
#include "plan/plan.hpp"

namespace pptrain {

/// What a plan comes to: throughput, model FLOP, what devices of each kind do, and which the plan leaves out; "" for a
/// plan without `speed`.
std::string summary_text(const Plan& plan, const Cluster& cluster);

}  // namespace pptrain
