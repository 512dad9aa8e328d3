#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "planners/ask/planner.hpp"
#include "planners/divide/division_problem.hpp"

namespace pptrain {

/// The division problems of one search. Layouts are kept per grid and times of layers over all.
class GridProblems {
 public:
  explicit GridProblems(const SearchSpace& space)
      : space_(space), sums_(space.instance), modes_(modes_of(space.restrictions)) {}

  const SearchSpace& space() const { return space_; }  ///< the space given to the constructor
  /// The default placement of a grid, made once for each; valid as long as this is.
  const GridLayout& layout(const Grid& grid);
  /// The problem of a grid in the default placement, which is valid as long as this is.
  DivisionProblem problem(const Grid& grid, std::int64_t samples) {
    return problem(layout(grid), samples);
  }
  /// The problem of a grid in any placement, valid as long as this is; `samples`: on the replica
  /// that has most.
  DivisionProblem problem(const GridLayout& layout, std::int64_t samples) {
    const std::int64_t micro_batch = micro_batch_of(
        layout.grid, samples, space_.instance.global_batch_size, space_.restrictions);
    return DivisionProblem(space_.instance, sums_, layout, micro_batch, space_.schedule, modes_);
  }
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

/// A division that does not fit: what its fullest device would need.
struct Overrun {
  double use = 0.0;  ///< need over memory on the fullest device; at most 1 where it would fit
  Grid grid;
  std::string text;  ///< micro-batch, device, need, memory
};
/// How far this division of a grid, in the default placement, is from fitting.
Overrun overrun_of(const SearchSpace& space, const Grid& grid, const DivisionProblem& problem,
                   const std::vector<Interval>& layers);

/// The overrun that comes nearest to fitting stands for all.
class NearestOverrun {
 public:
  /// Keeps the overrun if its fullest device is less full than that of all before.
  void offer(const Overrun& overrun);
  /// Whether any overrun was offered.
  bool any() const { return use_ < std::numeric_limits<double>::infinity(); }
  /// The nearest overrun as text, with its grid.
  const std::string& text() const { return text_; }

 private:
  double use_ = std::numeric_limits<double>::infinity();
  std::string text_;
};

}  // namespace pptrain
