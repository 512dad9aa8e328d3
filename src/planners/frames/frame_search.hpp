#pragma once

#include <string>
#include <vector>

#include "planners/planner.hpp"

namespace pptrain {

/// What a search of frames found.
struct FoundFrames {
  /// A plan without predictions, and its simulated iteration.
  struct Found {
    Plan plan;
    double seconds = 0.0;
  };
  std::vector<Found> plans;  ///< those that fit and are not much slower than the best, fastest first
  std::int64_t num_simulated = 0;
  bool complete = true;  ///< false: the work or the time was spent before every bound was above the best plan
  double bound = 0.0;    ///< no frame takes less
  std::string why_not;   ///< where no plan fits: which one comes nearest, and what its fullest device lacks
};

/// Searches the frames that the restrictions leave, best first: a frame waits in one queue, first with a bound of all
/// its schedules, then with the bound of its division in the order of its schedule, and is simulated when it comes to
/// the front. The search ends when no bound is below the best plan, `limit` seconds at first. What a frame comes to does
/// not depend on which others there are, nor on the number of threads.
FoundFrames search_frames(const SearchSpace& space, double limit);

}  // namespace pptrain
