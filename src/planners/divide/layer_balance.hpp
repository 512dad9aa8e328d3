#pragma once

#include <vector>

#include "base/stop.hpp"
#include "planners/divide/division_problem.hpp"

namespace pptrain {

/// The division whose fullest stage is least full, for saying by how much nothing fits; the even
/// one where the stop comes first.
std::vector<Interval> roomiest_division(const DivisionProblem& problem, const Stop& stop);

/// Each stage with as many layers as fit, but one for each later stage.
std::vector<Interval> filled_division(const DivisionProblem& problem);

/// The division with the least largest stage by `weights` (one per layer), smallest boundaries
/// first.
std::vector<Interval> balanced_division(const std::vector<double>& weights, int stages);

/// The division whose boundaries lie where the work before them is nearest to the sums of the
/// shares, each part at least one layer. `before`: work of the first l layers; `shares`: work that
/// each part is to have.
std::vector<Interval> division_by_shares(const std::vector<double>& before,
                                         const std::vector<double>& shares);

}  // namespace pptrain
