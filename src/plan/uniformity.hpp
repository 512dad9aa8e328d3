#pragma once

#include <string>

#include "plan/plan.hpp"

namespace pptrain {

/// Whether the parts are equally long.
bool is_even(const std::vector<Interval>& parts);

/// What of a stage is not divided evenly: samples over replicas, axes over members, state over runs
/// of replicas, or layers in blocks. "" where all is. Blocks of experts that replicas divide evenly
/// count as even.
std::string uneven_part(const Stage& stage);

/// In what two stages differ beside their layers and devices: replicas, members, and how they save
/// memory. "" where they are alike.
std::string stage_difference(const Stage& first, const Stage& stage);

/// Whether a plan is a uniform grid that divides everything evenly: stages are alike, and none has
/// an uneven part.
bool is_even_grid(const Plan& plan);

}  // namespace pptrain
