#pragma once

#include <vector>

#include "planners/ask/planner.hpp"

namespace pptrain {

/// Plans one step away from a plan, in the space that the restrictions leave. They have no predictions and may not
/// fit. Steps that would change annotated stages, blocks or uneven shards are left out.

/// Every other schedule (`schedule_choices`).
std::vector<Plan> other_schedules(const SearchSpace& space, const Plan& plan);
/// The next smaller and larger micro-batches, with samples shared out in the same proportion.
std::vector<Plan> other_micro_batches(const SearchSpace& space, const Plan& plan);
/// Other recomputation or ZeRO stage, of all stages and of single ones, where these are free.
std::vector<Plan> other_modes(const SearchSpace& space, const Plan& plan);
/// Whether every layer of a stage is divided alike and evenly.
bool has_plain_stages(const Plan& plan);
/// Experts divided over groups of the replicas of each stage, which send rows to one another: over as many as divide
/// the replicas, or as the restrictions say, and, of stages with tensor parallelism, over as many replicas in place of
/// its members. Samples stay as they are or are more where links are faster, and experts go by the samples. Nothing
/// where the restrictions do not ask for it, or the model has no experts.
std::vector<Plan> sent_rows(const SearchSpace& space, const Plan& plan);
/// One expert over to another member, in all blocks of a stage.
std::vector<Plan> shifted_experts(const SearchSpace& space, const Plan& plan);
/// A layer over to the next chunk or the one before, or over up to `most_cuts` cuts, with a layer of each chunk
/// between.
std::vector<Plan> shifted_layers(const SearchSpace& space, const Plan& plan, int most_cuts = 1);

}  // namespace pptrain
