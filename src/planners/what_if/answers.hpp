#pragma once

#include <string>
#include <vector>

#include "planners/what_if/sweep.hpp"

namespace pptrain {

/// How a plan shares a model: in stages one behind the other, or ZeRO over replicas of one stage.
enum class PlanStyle { replicas, zero, pipeline };
PlanStyle style_of(const Plan& plan);

/// The largest ZeRO stage of a plan's stages.
int zero_stage_of(const Plan& plan);

/// "PP 2 DP 8 TP 1 ZeRO 3", "3 stages on 12 devices": degrees of a plan in short.
std::string plan_in_short(const Plan& plan);

/// Rows of a sweep that differ in one axis alone, by growing numbers of it.
struct SweepChain {
  std::size_t axis = 0;
  std::vector<const SweepRow*> rows;
};

/// Chains of at least two rows with plans over an axis of numbers that is varied. Where
/// `pools_parallelism`, rows that differ in keys of [parallelism] and in prices too are one, the
/// fastest.
std::vector<SweepChain> chains_of(const Sweep& sweep, std::size_t axis, bool pools_parallelism);

/// Sentences that the points of a sweep tell: the fastest and the cheapest, what more nodes give,
/// which nodes are left out, and when ZeRO beats a pipeline. `most` of each kind.
std::vector<std::string> sweep_answers(const Sweep& sweep, std::size_t most);

}  // namespace pptrain
