#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planners/ask/planner.hpp"

namespace pptrain {

/// Outcome of a search.
struct SearchResult {
  std::optional<Plan> plan;  ///< with `predicted`, `alternatives` and search figures; none when
                             ///< nothing fits
  std::string why_not;       ///< when nothing fits: what does not fit and by how much
  bool complete = true;      ///< false: ended by the time limit or the user with the best so far
  std::vector<GridCandidate> grids;  ///< best plan of each uniform grid, fastest first, infeasible
                                     ///< ones last
  std::vector<Plan> others;  ///< what the planners of the plan's alternatives found, in their order
};

}  // namespace pptrain
