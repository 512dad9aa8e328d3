#pragma once

#include <string>

#include "planners/ask/planner.hpp"

namespace pptrain {

/// Uniform grids whose ranks hold several chunks: every grid and micro-batch size, the layers
/// divided into pp x V chunks whose slowest takes as little as can be on the cluster's first kind
/// of device. The best is the one with the least `iteration_seconds`, for the planner called
/// `planner`.
Outcome search_chunked_grids(const SearchSpace& space, const ScheduleChoice& schedule,
                             const std::string& planner);

}  // namespace pptrain
