#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace pptrain {

/// The line a person watches while training runs: on a terminal one that is rewritten, otherwise a
/// new one now and then. Goes to standard error; nothing when quiet.
class Progress {
 public:
  /// `amount_per_step` of `unit` (tokens, samples) for the speed.
  Progress(std::int64_t first_step, std::int64_t steps, double amount_per_step, std::string unit);

  /// `numbers`: what came out of the step, "loss 3.2".
  void step(std::int64_t step, const std::string& numbers);
  void evaluation(std::int64_t step, double loss);
  /// Ends the rewritten line.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  bool due(std::int64_t step) const;
  void clear_line() const;

  std::int64_t first_step_;
  std::int64_t steps_;
  double amount_per_step_;
  std::string unit_;
  bool terminal_;
  bool line_open_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point shown_;
};

}  // namespace pptrain
