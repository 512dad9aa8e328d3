#pragma once

#include <optional>
#include <vector>

#include "planners/division_problem.hpp"
#include "planners/planner.hpp"

namespace pptrain {

struct Division {
  std::vector<Interval> layers;  ///< of each stage
  double seconds = 0.0;          ///< AMP Eq. 4
};

/// The contiguous division, each stage at least one layer, that fits and takes the least time by
/// AMP Eq. 4 as a whole; of those within `tie_tolerance` the one with the smallest boundaries.
/// Nothing when none fits.
std::optional<Division> best_division(const DivisionProblem& problem);

/// The division whose fullest stage is least full, for saying by how much nothing fits.
std::vector<Interval> roomiest_division(const DivisionProblem& problem);

/// The division with the least largest stage by `weights` (one per layer), smallest boundaries first.
std::vector<Interval> balanced_division(const std::vector<double>& weights, int stages);

}  // namespace pptrain
