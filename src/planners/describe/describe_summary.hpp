#pragma once

#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "plan/plan.hpp"

namespace pptrain {

/// What a plan comes to: throughput, model FLOP, what devices of each kind do, and which the plan
/// leaves out; "" for a plan without `speed`.
std::string summary_text(const Plan& plan, const Cluster& cluster);

/// "the 4 t4" and "the 2 nodes 8 x A100": kinds, and groups of nodes of the other kinds, of which
/// no device is used.
std::vector<std::string> groups_left_out(const Plan& plan, const Cluster& cluster);

/// Whether the search of the plan made its time small, and nothing else.
bool is_fastest(const Plan& plan);
/// What a better plan than this one, by the objective of its search, would be: "is faster", "costs
/// less".
std::string better_text(const Plan& plan);

}  // namespace pptrain
