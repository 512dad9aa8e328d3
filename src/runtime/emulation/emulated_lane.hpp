#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "runtime/emulation/emulated_clock.hpp"
#include "runtime/emulation/meeting.hpp"

namespace pptrain {

/// A collective that moves nothing and ends when one of an emulated cluster would.
struct EmulatedCollective {
  Meeting meeting;
  double seconds;
  std::optional<double> end = std::nullopt;  ///< once all members have come
};

/// Collectives of one group that wait for one another: each begins when its last member has come to
/// it and the one before has ended, and takes the time that it is given.
class EmulatedLane {
 public:
  EmulatedLane(Transport& meetings, int tag, EmulatedClock& clock)
      : meetings_(meetings), tag_(tag), clock_(clock) {}

  /// This rank comes to a collective now. The result ends when the collective does; the clock has
  /// come there then. The lane outlives it. Collective over this rank and the `others`.
  PendingPtr start(const std::vector<RankId>& others, double seconds) {
    return start(others, seconds, tag_);
  }
  /// This rank comes to a collective now, in a lane whose members wait for collectives of different
  /// groups, each group with a `tag` of its own. The result ends when the collective does; the
  /// clock has come there then. The lane outlives it. Collective over this rank and the `others`.
  PendingPtr start(const std::vector<RankId>& others, double seconds, int tag);

  /// Finds the ends of collectives to which all have come.
  void progress();
  /// Clock of this rank's device, which outlives the lane.
  EmulatedClock& clock() { return clock_; }

 private:
  Transport& meetings_;
  int tag_;
  EmulatedClock& clock_;
  double free_ = 0.0;  ///< when the last collective whose end is known ends
  std::deque<std::shared_ptr<EmulatedCollective>> open_;
};

}  // namespace pptrain
