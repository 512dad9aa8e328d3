#pragma once

#include <functional>

namespace pptrain {

/// When a rank that has nothing to do sleeps for some microseconds where it would yield its core.
///
/// A yield (`sched_yield`) lets every program that is ready run first, each for a time slice of
/// some milliseconds. Ranks that wait for one another yield in turn, so that a yield among them is
/// short. Beside a program that never waits each look for a message costs a slice, and a job takes
/// many times its fair share of time. A rank that wakes from a sleep is given the core at once,
/// since it has had less than its share.
class YieldPolicy {
 public:
  /// `most_ready`: how many programs may be ready to run before some of them must be others than
  /// ranks of this job on cores of their own.
  explicit YieldPolicy(long most_ready) : most_ready_(most_ready) {}

  /// Seconds to sleep at time `now` (seconds) in place of a yield; 0: yield.
  double nap(double now);
  /// Takes note of a yield that returned at time `now` after `seconds`. `count_ready` tells how
  /// many programs of the host are ready to run; it is asked only after a long yield.
  void yielded(double now, double seconds, const std::function<long()>& count_ready);

 private:
  long most_ready_;
  double naps_until_ = 0.0;
  double last_ = 0.0;    ///< when the last nap was to end
  double length_ = 0.0;  ///< of the last nap, seconds
};

}  // namespace pptrain

/// Yields the core, or sleeps as `YieldPolicy` says. The definition takes the place of libc's in
/// the whole program, since Open MPI calls it in each of its waits where it has been told to yield.
/// Returns 0.
extern "C" int sched_yield() noexcept;
