#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planners/divide.hpp"
#include "planners/planner.hpp"

namespace pptrain {

/// One division of one uniform grid with one micro-batch size.
struct UniformCandidate {
  Grid grid;
  std::int64_t samples = 0;  ///< of a micro-batch on one replica
  Division division;
  double rank_seconds = 0.0;  ///< what the planner minimises
};

/// Candidates in the order of COST.md's ties, or why there are none.
struct UniformCandidates {
  std::vector<UniformCandidate> found;
  std::vector<GridCandidate> without;  ///< grids for which nothing was found, with the reason
  std::int64_t num_examined = 0;
  std::string why_not;  ///< when nothing was found: the grid that comes closest
};

/// For every grid and micro-batch size the exact minimum of AMP Eq. 4 (COST.md, space `amp`).
UniformCandidates amp_candidates(const SearchSpace& space);

/// Megatron's choice for every micro-batch size: of the degrees that fit the smallest tmp * pp, then
/// the smaller tmp, with tmp inside a node; layers by count and by parameters.
UniformCandidates megatron_candidates(const SearchSpace& space);

/// Every device a replica of the whole model, for every micro-batch size.
UniformCandidates data_parallel_candidates(const SearchSpace& space);

/// The first candidate within `tie_tolerance` of the least `rank_seconds`; nothing when there are none.
const UniformCandidate* best_candidate(const std::vector<UniformCandidate>& candidates);

/// The candidate as a finished plan.
Plan plan_of(const SearchSpace& space, const UniformCandidate& candidate, const std::string& planner);

/// A grid and micro-batch size for which no division fits: what the roomiest one would need.
struct Overrun {
  double use = 0.0;  ///< need over memory on the fullest device
  std::string text;  ///< device, need, memory
};
Overrun overrun_of(const SearchSpace& space, const Grid& grid, const DivisionProblem& problem, std::int64_t samples);

}  // namespace pptrain
