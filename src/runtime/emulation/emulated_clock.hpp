#pragma once

namespace pptrain {

/// The time of an emulated device, in seconds of the host's clock.
///
/// What takes a known time ends when it was due, not when the host woke the rank: the next task
/// begins then, and its end is due all the earlier. So lateness does not add up over an iteration,
/// and the device is never ahead of the host's clock: what is measured there has all lateness in
/// it.
class EmulatedClock {
 public:
  /// Seconds of the host's clock (`wall_seconds`).
  static double host();

  /// Seconds to which the emulated device has come.
  double now() const { return now_; }
  /// Sets the clock to `time` where it is behind that; `time` is not ahead of the host.
  void reach(double time) { now_ = time > now_ ? time : now_; }
  /// Sleeps until the host has come to `time`.
  void sleep_until(double time);
  /// The host has worked at what is due at `time`; it may be late.
  void wait_rest(double time);

 private:
  double now_ = host();
};

}  // namespace pptrain
