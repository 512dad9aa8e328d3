#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planners/ask/planner.hpp"
#include "planners/divide/divide.hpp"
#include "planners/divide/grid_problems.hpp"

namespace pptrain {

/// One division of one uniform grid with one micro-batch size.
struct UniformCandidate {
  Grid grid;
  std::int64_t samples = 0;  ///< of a micro-batch on one replica
  Division division;
  double rank_seconds = 0.0;       ///< what the planner minimises
  std::vector<DeviceRows> meshes;  ///< devices of each stage; none: the default placement
};

/// Whether `a` is taken where `b` is as fast: by degrees, micro-batch size, boundaries.
bool comes_first(const UniformCandidate& a, const UniformCandidate& b);

/// Candidates in the order of `comes_first`, or why there are none.
struct UniformCandidates {
  std::vector<UniformCandidate> found;
  std::vector<GridCandidate> without;  ///< grids for which nothing was found, with the reason
  std::int64_t num_examined = 0;
  std::string why_not;  ///< when nothing was found: the grid that comes closest
  bool complete = true;
};

/// How many candidates beside the best one are wanted.
enum class Breadth {
  best,   ///< what a bound shows to be slower than the best is left out
  table,  ///< the best one, and the best of `num_shown_grids` grids, those with the least bounds
  everything  ///< every grid and micro-batch size; all others are this too where the space has a
              ///< check
};
constexpr int num_shown_grids = 12;

/// For every grid and micro-batch size that is wanted the exact minimum of AMP Eq. 4 (docs/cost.md
/// says its terms), those with the least bounds first. Once one was found the search obeys the
/// stop.
UniformCandidates amp_candidates(const SearchSpace& space, Breadth breadth = Breadth::table);

/// Megatron's choice for every micro-batch size: of the degrees that fit the smallest tmp * pp,
/// then the smaller tmp, with tmp inside a node; layers by count and by parameters.
UniformCandidates megatron_candidates(const SearchSpace& space);

/// Every device a replica of the whole model, for every micro-batch size.
UniformCandidates data_parallel_candidates(const SearchSpace& space);

/// How layers are divided where nothing is searched.
enum class DivisionRule {
  by_count,      ///< the first L mod pp stages get one more
  by_parameters  ///< the largest stage as small as can be
};

/// AMP's ablations: every grid and micro-batch size with the layers divided by a rule.
UniformCandidates ruled_candidates(const SearchSpace& space, DivisionRule rule);

/// AMP's baseline RS: plans drawn at random, those that fit. The same ones every time.
UniformCandidates random_candidates(const SearchSpace& space);

/// AMP's Algorithm 2 from the best of `amp_candidates`, which is among those found.
UniformCandidates annealed_candidates(const SearchSpace& space);

/// The first candidate within `tie_tolerance` of the least `rank_seconds`; nothing when there are
/// none.
const UniformCandidate* best_candidate(const std::vector<UniformCandidate>& candidates);

/// Leaves out the best candidate for as long as it is refused.
void drop_refused(const SearchSpace& space, std::vector<UniformCandidate>& candidates);

/// The candidate as a finished plan.
Plan plan_of(const SearchSpace& space, const UniformCandidate& candidate,
             const std::string& planner);

}  // namespace pptrain
