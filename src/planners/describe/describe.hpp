#pragma once

#include <string>

#include "planners/ask/search_result.hpp"

namespace pptrain {

/// Text for people: candidate grids with predicted time and memory.
std::string describe_candidates(const SearchResult& result, const Cluster& cluster);

/// Text for people: in how many bytes gradients go from replica to replica, where they are others
/// than those held; or nothing.
std::string describe_gradients(const Profile& profile);

/// Text for people: how much of an iteration of this bubble fraction devices compute, "devices
/// compute 92 % of it".
std::string computing_text(double bubble_fraction);

/// Text for people: "8 micro-batches of 64 samples".
std::string micro_batches_text(const Plan& plan);

/// Text for people, of 25 lines at most where those of --correlation are not among them: the plan
/// stage by stage, its prediction, and its alternatives in short.
std::string describe_plan(const Plan& plan, const Cluster& cluster);

/// Text for people who asked for more: each stage, of what the closed formula's time consists,
/// other schedules, and why other planners' plans are slower.
std::string describe_plan_in_full(const Plan& plan, const Cluster& cluster);

}  // namespace pptrain
