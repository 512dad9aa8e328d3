#pragma once

#include "plan/plan.hpp"
#include "profile/profile.hpp"

namespace pptrain {

/// Gives each member of a tensor-parallel group whole experts, equally many, where the group's size divides their
/// number (Lepikhin et al., "GShard", 2020). Groups whose shares the plan says already stay as they are. What is
/// predicted of the plan holds as before: the members have as many parameters and, on average, as many rows.
void give_whole_experts(Plan& plan, const Profile& profile);

}  // namespace pptrain
