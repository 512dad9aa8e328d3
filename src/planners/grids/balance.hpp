#pragma once

#include <vector>

#include "planners/grids/division_problem.hpp"

namespace pptrain {

/// The division whose fullest stage is least full, for saying by how much nothing fits.
std::vector<Interval> roomiest_division(const DivisionProblem& problem);

/// The division with the least largest stage by `weights` (one per layer), smallest boundaries first.
std::vector<Interval> balanced_division(const std::vector<double>& weights, int stages);

}  // namespace pptrain
