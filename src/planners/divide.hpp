#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "planners/division_problem.hpp"
#include "planners/planner.hpp"

namespace pptrain {

struct Division {
  std::vector<Interval> layers;  ///< of each stage
  double seconds = 0.0;          ///< AMP Eq. 4
};

/// Times that differ by less may be a tie or rounding, so a bound has to be above by more to rule a plan out.
constexpr double bound_slack = 4.0 * tie_tolerance;

/// The contiguous division, each stage at least one layer, that fits and takes the least time by
/// AMP Eq. 4 as a whole; of those within `tie_tolerance` the one with the smallest boundaries.
/// Nothing when none fits, or none that takes `limit` at most.
///
/// First bounds on every term and a good division are found by programmes over sums alone; then a
/// programme over labels (sum, max t_i, max all-reduce) keeps the labels that could still win. With n
/// stages, L layers and windows of w layers: O(n L w) times the labels of a state, which are few.
std::optional<Division> best_division(const DivisionProblem& problem,
                                      double limit = std::numeric_limits<double>::infinity());

}  // namespace pptrain
