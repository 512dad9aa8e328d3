#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/screen.hpp"

namespace pptrain {

/// A bar and what stands beside it, no wider than the screen, since a line that wraps cannot be
/// rewritten.
std::string progress_line(const Screen& screen, double share, const std::string& text);

/// Seconds between two lines where none can be rewritten: 3 at first, a minute in the end, so that
/// a log of days has thousands of lines and not a hundred thousand.
double plain_period(double elapsed_seconds);

/// The line a person watches while training runs: on a terminal one that is rewritten, otherwise a
/// new one now and then. Goes to standard error, but when quiet; the lines go to the log file in
/// any case.
class Progress {
 public:
  /// `amount_per_step` of `unit` (tokens, samples) for the speed.
  Progress(std::int64_t first_step, std::int64_t steps, double amount_per_step, std::string unit,
           const Screen& screen = standard_error_screen());

  /// `numbers`: what came out of the step, "loss 3.2".
  void step(std::int64_t step, const std::string& numbers);
  /// Logs the loss on held-back data after `step` (from 0). `part`: "8 of 12 batches" where not all
  /// were used, else "".
  void evaluation(std::int64_t step, double loss, const std::string& part);
  /// Ends the rewritten line, before something else is printed.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  /// Whether a line is due: for the first step and the last, and whenever such a period has passed.
  bool due(std::int64_t step, Clock::time_point last, double period) const;
  std::string line(std::int64_t step, const std::string& numbers) const;
  double seconds_per_step(std::int64_t step) const;

  std::int64_t first_step_;
  std::int64_t steps_;
  double amount_per_step_;
  std::string unit_;
  Screen screen_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point warm_;    ///< end of the first step, which takes longer than the others
  Clock::time_point shown_;   ///< the rewritten line
  Clock::time_point logged_;  ///< a line of its own
};

}  // namespace pptrain
