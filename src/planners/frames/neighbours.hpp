#pragma once

#include <cstdint>
#include <vector>

#include "planners/ask/planner.hpp"

namespace pptrain {

/// Plans one step away from a plan, in the space that the restrictions leave. They have no
/// predictions and may not fit. Steps that would change annotated stages, blocks or uneven shards
/// are left out.

/// Every other schedule (`schedule_choices`).
std::vector<Plan> other_schedules(const SearchSpace& space, const Plan& plan);
/// The next smaller and larger micro-batches, with samples shared out in the same proportion.
std::vector<Plan> other_micro_batches(const SearchSpace& space, const Plan& plan);
/// Other recomputation or ZeRO stage, of all stages and of single ones, where these are free.
std::vector<Plan> other_modes(const SearchSpace& space, const Plan& plan);
/// More or less that is offloaded, of all stages and of single ones, each with every recomputation
/// and ZeRO stage.
std::vector<Plan> other_offloads(const SearchSpace& space, const Plan& plan);
/// As many replicas as `old` has, with samples in the same proportion that are `micro_batch`
/// together, at least one each.
std::vector<Interval> scaled_samples(const std::vector<Interval>& old, std::int64_t micro_batch);
/// Whether every layer of a stage is divided alike and evenly.
bool has_plain_stages(const Plan& plan);
/// Experts divided over groups of the replicas of each stage, which send rows to one another: over
/// as many as divide the replicas, or as the restrictions say, and, of stages with tensor
/// parallelism, over as many replicas in place of its members. Samples stay as they are or are more
/// where links are faster, and experts go by the samples. Nothing where the restrictions do not ask
/// for it, or the model has no experts.
std::vector<Plan> sent_rows(const SearchSpace& space, const Plan& plan);
/// One expert over to another member, in all blocks of a stage.
std::vector<Plan> shifted_experts(const SearchSpace& space, const Plan& plan);
/// A layer over to the next chunk or the one before, or over up to `most_cuts` cuts, with a layer
/// of each chunk between.
std::vector<Plan> shifted_layers(const SearchSpace& space, const Plan& plan, int most_cuts = 1);
/// Two cuts moved by a layer each, of plans with `most_paired_chunks` chunks at most: a V of chunks
/// stays even so.
std::vector<Plan> shifted_pairs(const SearchSpace& space, const Plan& plan);
constexpr std::size_t most_paired_chunks = 10;
/// Two rounds of chunks changed on all stages alike: every stage moves a layer from its chunk of
/// the one to its chunk of the other, or exchanges their numbers of layers. A stage has as many
/// layers as before.
std::vector<Plan> changed_rounds(const SearchSpace& space, const Plan& plan);

/// A sample over to another replica of the same stage, on devices of another kind or with more
/// samples.
std::vector<Plan> shifted_samples(const SearchSpace& space, const Plan& plan);
/// Two devices of different nodes exchanged (of `most_exchanged_devices` devices at most), or two
/// stages of equal shape.
std::vector<Plan> exchanged_devices(const SearchSpace& space, const Plan& plan);
constexpr int most_exchanged_devices = 16;
/// Devices left out: a replica of one stage or of all, or a stage whose layers go to the one before
/// or behind.
std::vector<Plan> fewer_devices(const SearchSpace& space, const Plan& plan);
/// Devices that the plan leaves out as a replica of one stage, or as a stage that takes half of the
/// layers of another one of the same shape.
std::vector<Plan> more_devices(const SearchSpace& space, const Plan& plan);

}  // namespace pptrain
