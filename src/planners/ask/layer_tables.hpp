#pragma once

#include <string>

#include "cost/cost.hpp"

namespace pptrain {

/// Planners with a table over every first and last layer of a stage plan models of this many layers
/// at most: memory and time go with the square of their number.
inline constexpr int most_tabulated_layers = 4096;

/// Why a planner that tabulates layers does not plan the instance; empty where it does.
std::string why_not_tabulated(const Instance& instance);

}  // namespace pptrain
