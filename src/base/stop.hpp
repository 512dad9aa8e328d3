#pragma once

#include <chrono>

namespace pptrain {

/// When a search has to end with the best it has: at a time limit, or when the user interrupts it.
/// Copies share the same end.
class Stop {
 public:
  /// Only an interrupt ends it.
  Stop() = default;
  /// Ends `seconds` from now; 0: no limit.
  explicit Stop(double seconds);

  /// Whether to end now. Takes some tens of nanoseconds.
  bool requested() const;
  /// Seconds that are left; infinite without a limit, 0 after an interrupt.
  double seconds_left() const;
  /// A stop that ends with this one, but at most `seconds` from now.
  Stop within(double seconds) const;

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point end_ = Clock::time_point::max();
};

/// Makes every `Stop` request an end. May be called in a signal handler.
void interrupt_searches() noexcept;
/// Whether that has happened.
bool searches_interrupted() noexcept;

}  // namespace pptrain
