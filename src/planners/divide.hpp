#pragma once

#include <optional>
#include <vector>

#include "planners/division_problem.hpp"

namespace pptrain {

/// Two times that differ by less than this part of the smaller one are a tie (COST.md).
constexpr double tie_tolerance = 1e-12;

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
