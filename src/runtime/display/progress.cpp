#include "runtime/display/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "base/log.hpp"
#include "base/rewritten_line.hpp"
#include "base/units.hpp"

namespace pptrain {
namespace {

constexpr int bar_width = 24;
constexpr int least_bar_width = 8;
constexpr double terminal_period_seconds = 0.2;

double seconds_between(std::chrono::steady_clock::time_point a,
                       std::chrono::steady_clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

std::string bar(const Screen& screen, double share, int width) {
  const int full = std::clamp(static_cast<int>(std::lround(share * width)), 0, width);
  const std::string done(static_cast<std::size_t>(full), '=');
  const std::string rest(static_cast<std::size_t>(width - full), ' ');
  return screen.colour ? fmt::format("[\033[36m{}\033[0m{}]", done, rest)
                       : fmt::format("[{}{}]", done, rest);
}

}  // namespace

std::string progress_line(const Screen& screen, double share, const std::string& text) {
  const int most = screen.columns - 1;  // some terminals wrap after the last column
  const int width = std::min(bar_width, most - static_cast<int>(text.size()) - 3);
  if (width < least_bar_width) return text.substr(0, static_cast<std::size_t>(std::max(0, most)));
  return bar(screen, share, width) + " " + text;
}

double plain_period(double elapsed_seconds) {
  return std::clamp(elapsed_seconds / 20.0, 3.0, 60.0);
}

Progress::Progress(std::int64_t first_step, std::int64_t steps, double amount_per_step,
                   std::string unit, const Screen& screen)
    : first_step_(first_step),
      steps_(steps),
      amount_per_step_(amount_per_step),
      unit_(std::move(unit)),
      screen_(screen) {}

bool Progress::due(std::int64_t step, Clock::time_point last, double period) const {
  return step == first_step_ || step + 1 == steps_ || seconds_between(last, Clock::now()) >= period;
}

/// The mean over the steps so far; the first counts only where there are no others.
double Progress::seconds_per_step(std::int64_t step) const {
  const Clock::time_point now = Clock::now();
  if (step == first_step_) return seconds_between(start_, now);
  return seconds_between(warm_, now) / static_cast<double>(step - first_step_);
}

std::string Progress::line(std::int64_t step, const std::string& numbers) const {
  const double seconds = std::max(seconds_per_step(step), 1e-9);
  return fmt::format("step {:>{}}/{}  {}  {} {}/s  {} left", step + 1,
                     std::to_string(steps_).size(), steps_, numbers,
                     format_count(amount_per_step_ / seconds), unit_,
                     format_duration(seconds * static_cast<double>(steps_ - step - 1)));
}

void Progress::step(std::int64_t step, const std::string& numbers) {
  if (step == first_step_) warm_ = Clock::now();
  const bool rewrites = screen_.terminal && verbosity() != Verbosity::quiet;
  if (due(step, logged_, plain_period(seconds_between(start_, Clock::now())))) {
    logged_ = Clock::now();
    if (rewrites) {
      log_to_file(line(step, numbers));
    } else {
      log_info("{}", line(step, numbers));
    }
  }
  if (!rewrites || !due(step, shown_, terminal_period_seconds)) return;
  shown_ = Clock::now();
  const double share = static_cast<double>(step + 1) / static_cast<double>(steps_);
  rewrite_line(progress_line(screen_, share, line(step, numbers)));
}

void Progress::evaluation(std::int64_t step, double loss, const std::string& part) {
  log_info("step {}: loss on held-back data {:.4f}{}", step + 1, loss,
           part.empty() ? "" : fmt::format(" ({})", part));
}

void Progress::finish() { end_rewritten_line(); }

}  // namespace pptrain
