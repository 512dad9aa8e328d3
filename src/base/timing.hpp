#pragma once

#include <vector>

namespace pptrain {

/// The clocks of this process, and how it sleeps: those of the machine, unless a test puts others
/// in their place.
class TimeSource {
 public:
  virtual ~TimeSource() = default;

  /// Seconds of a clock that never goes back.
  virtual double wall_seconds();
  /// Seconds of CPU time of the calling thread.
  virtual double thread_cpu_seconds();
  /// Returns when `wall_seconds()` has come to `time`.
  virtual void sleep_until(double time);
};

/// From now on time is that of `source`, which outlives its use; null: of the machine. For tests,
/// while no other thread asks for the time.
void set_time_source(TimeSource* source);

/// Seconds of a clock that never goes back.
double wall_seconds();

/// Seconds of CPU time of the calling thread: unlike wall time it does not grow when ranks share a
/// core.
double thread_cpu_seconds();

/// Returns when `wall_seconds()` has come to `time`.
void sleep_until(double time);

/// The middle value, or the mean of the two in the middle; 0 for none.
double median(std::vector<double> values);

}  // namespace pptrain
