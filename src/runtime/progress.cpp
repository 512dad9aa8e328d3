#include "runtime/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "base/log.hpp"
#include "base/units.hpp"

namespace pptrain {
namespace {

constexpr int bar_width = 24;
constexpr double terminal_period_seconds = 0.2;
constexpr double plain_period_seconds = 3.0;

double seconds_between(std::chrono::steady_clock::time_point a, std::chrono::steady_clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

std::string bar(double share) {
  const int full = static_cast<int>(share * bar_width);
  return "[" + std::string(full, '=') + std::string(bar_width - full, ' ') + "]";
}

}  // namespace

Progress::Progress(std::int64_t first_step, std::int64_t steps, double amount_per_step, std::string unit)
    : first_step_(first_step),
      steps_(steps),
      amount_per_step_(amount_per_step),
      unit_(std::move(unit)),
      terminal_(isatty(STDERR_FILENO) == 1) {}

bool Progress::due(std::int64_t step) const {
  if (step == first_step_ || step + 1 == steps_) return true;
  return seconds_between(shown_, Clock::now()) >= (terminal_ ? terminal_period_seconds : plain_period_seconds);
}

void Progress::clear_line() const {
  if (line_open_) std::fputs("\r\033[K", stderr);
}

void Progress::step(std::int64_t step, const std::string& numbers) {
  if (verbosity() == Verbosity::quiet || !due(step)) return;
  shown_ = Clock::now();
  const double elapsed = seconds_between(start_, shown_);
  const auto done = static_cast<double>(step + 1 - first_step_);
  const double left = elapsed / done * static_cast<double>(steps_ - step - 1);
  const std::string line =
      fmt::format("step {:>{}}/{}  {}  {} {}/s  {} left", step + 1, std::to_string(steps_).size(), steps_, numbers,
                  format_count(amount_per_step_ * done / elapsed), unit_, format_duration(left));
  if (!terminal_) {
    log_info("{}", line);
    return;
  }
  clear_line();
  fmt::print(stderr, "{} {}", bar(static_cast<double>(step + 1) / static_cast<double>(steps_)), line);
  std::fflush(stderr);
  line_open_ = true;
}

void Progress::evaluation(std::int64_t step, double loss) {
  clear_line();
  line_open_ = false;
  log_info("step {}: loss on held-back data {:.4f}", step + 1, loss);
}

void Progress::finish() {
  if (line_open_) std::fputs("\n", stderr);
  line_open_ = false;
}

}  // namespace pptrain
