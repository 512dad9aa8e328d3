#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "planners/ask/planner.hpp"
#include "planners/divide/division_problem.hpp"

namespace pptrain {

struct Division {
  std::vector<Interval> layers;  ///< of each stage
  double seconds = 0.0;          ///< AMP Eq. 4
};

/// Times that differ by less may be a tie or rounding, so a bound has to be above by more to rule a
/// plan out.
constexpr double bound_slack = 4.0 * tie_tolerance;

/// The contiguous division, each stage at least one layer, that fits and takes the least time by
/// AMP Eq. 4 as a whole; of those within `tie_tolerance` the one with the smallest boundaries.
/// Nothing when none fits, or none that takes `limit` at most.
///
/// Branch and bound over the largest t_i and the largest all-reduce. A programme over sums alone
/// bounds what lies between two pairs of them, and its division is a plan that may be the best so
/// far; where few labels (sum, max t_i, max all-reduce) can still win, a programme over these
/// settles the rest. With n stages, L layers and at most w layers in a stage, each programme takes
/// O(n L w).
///
/// Where `stop` comes first it is the best that is known by then, or nothing.
std::optional<Division> best_division(const DivisionProblem& problem,
                                      double limit = std::numeric_limits<double>::infinity(),
                                      const Stop& stop = Stop());

}  // namespace pptrain
