#pragma once

#include <cstdint>
#include <vector>

#include "planners/divide/grid_problems.hpp"
#include "planners/published/amp/remedy.hpp"
#include "planners/published/amp/uniform_search.hpp"

namespace pptrain {

/// Divisions that a planner tries on uniform grids. Those that fit become candidates; of the others
/// the one that is nearest to fitting gives the reason where none fits.
class GridTrials {
 public:
  GridTrials(const SearchSpace& space, GridsUnder grids);

  /// Grids that have plans, whatever the memory, in the order of ties.
  const std::vector<Grid>& grids() const { return in_space_; }
  /// Samples per replica that the restrictions allow, ascending.
  std::vector<std::int64_t> samples_of(const Grid& grid) const {
    return problems_.samples_of(grid);
  }
  /// Whether the division fits.
  bool try_division(const Grid& grid, std::int64_t samples, const std::vector<Interval>& layers);
  /// Whether to end with the best so far: the stop is obeyed once there is one.
  bool stopped();
  /// What was found, or why nothing was; `fits` for saying what would help.
  UniformCandidates finish(const Fits& fits);

 private:
  const SearchSpace& space_;
  GridsUnder grids_under_;
  GridProblems problems_;
  std::vector<Grid> in_space_;
  NearestOverrun nearest_;
  UniformCandidates result_;
};

}  // namespace pptrain
