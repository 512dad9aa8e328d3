#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "planners/division_problem.hpp"
#include "planners/planner.hpp"

namespace pptrain {

/// The division problems of one search. Layouts are kept per grid and times of layers over all.
class GridProblems {
 public:
  explicit GridProblems(const SearchSpace& space)
      : space_(space), sums_(space.instance), modes_(modes_of(space.restrictions)) {}

  const SearchSpace& space() const { return space_; }
  const GridLayout& layout(const Grid& grid);
  /// Valid as long as this is.
  DivisionProblem problem(const Grid& grid, std::int64_t samples);
  /// Samples per replica that the restrictions allow, ascending.
  std::vector<std::int64_t> samples_of(const Grid& grid) const {
    return samples_per_replica(grid, space_.instance.global_batch_size, space_.restrictions);
  }

 private:
  const SearchSpace& space_;
  LayerSums sums_;
  StageModes modes_;
  std::map<Grid, GridLayout> layouts_;
};

/// A grid and micro-batch size for which no division fits: what the roomiest one would need.
struct Overrun {
  double use = 0.0;  ///< need over memory on the fullest device; at most 1 where it would fit
  std::string text;  ///< micro-batch, device, need, memory
};
Overrun overrun_of(GridProblems& problems, const Grid& grid, std::int64_t samples);

}  // namespace pptrain
