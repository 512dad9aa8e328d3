#pragma once

#include <string>

#include "plan/plan.hpp"

namespace pptrain {

/// The checks of `validate_plan` that need neither model nor cluster.
void validate_plan_alone(const Plan& plan, const std::string& source);

/// Stage on which a schedule has a chunk.
int stage_of_chunk(const std::string& schedule, int num_stages, int chunk);

/// Chunks where the plan's schedule has them: one per stage for gpipe, 1f1b, dapple-b, zb-h1 and
/// zb-h2; a V over the stages and back for zb-v; chunk c on stage c mod S for the others.
/// `virtual_stages` says how many.
void check_chunk_layout(const Plan& plan, const std::string& source);

}  // namespace pptrain
