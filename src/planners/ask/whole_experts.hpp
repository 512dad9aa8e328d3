#pragma once

#include "plan/plan.hpp"
#include "profile/profile.hpp"

namespace pptrain {

/// Gives each member of a tensor-parallel group whole experts, equally many, where the group's size
/// divides their number (Lepikhin et al., "GShard", 2020). Groups whose shares the plan says
/// already stay as they are. What is predicted of the plan holds as before: the members have as
/// many parameters and, on average, as many rows.
void give_whole_experts(Plan& plan, const Profile& profile);

/// `total` in parts by their weights, at least one each.
std::vector<Interval> parts_by_weights(std::int64_t total, const std::vector<double>& weights);

/// The block of a layer with experts, divided over groups of `members` of the stage's replicas,
/// each of one device, which keep their samples and send rows to one another. Experts are in
/// proportion to samples: what leaves a member is then as much as what comes to it.
Block sending_block(const Profile& profile, const Stage& stage, std::int64_t layer, int members);

/// Makes such blocks of those that divide layers with experts over devices of which each is a
/// replica of the stage.
void send_rows_of_blocks(Plan& plan, const Profile& profile);

}  // namespace pptrain
