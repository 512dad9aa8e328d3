#pragma once

#include <string>
#include <vector>

#include "planners/ask/planner.hpp"
#include "planners/judge/known_orders.hpp"

namespace pptrain {

/// What a search of frames found.
struct FoundFrames {
  /// A plan without predictions, and its simulated iteration.
  struct Found {
    Plan plan;
    double seconds = 0.0;
  };
  std::vector<Found> plans;    ///< the best of some shapes and micro-batch sizes that fit, fastest
                               ///< first
  std::size_t num_varied = 0;  ///< how many of them are there beside a slower one with another ZeRO
                               ///< stage
  std::int64_t num_simulated = 0;
  bool complete = true;  ///< false: the work or the time was spent before every bound was above the
                         ///< best plan
  std::string why_not;   ///< where no plan fits: which one comes nearest, and what its fullest
                         ///< device lacks
};

/// Work that an effort allows, over that of normal effort.
double effort_factor(Effort effort);

/// Searches the frames that the restrictions leave, best first. A frame waits in one queue: its
/// shape with a bound of all micro-batch sizes, then with one of all schedules and modes, then with
/// the bound of its layers' division in the order of its schedule; what frames that are like it
/// have come to beyond their bounds says when it is simulated. Only the bound leaves a frame out:
/// the search is complete when none is below the best plan (`limit` seconds at first), and ends
/// before that when its work, counted in simulated tasks, is spent, or at the stop. The result does
/// not depend on the number of threads. Orders that are searched are kept in `orders`.
FoundFrames search_frames(const SearchSpace& space, double limit,
                          const std::shared_ptr<KnownOrders>& orders);

}  // namespace pptrain
