#include "runtime/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/log.hpp"
#include "base/units.hpp"

namespace pptrain {
namespace {

constexpr int bar_width = 24;
constexpr int least_bar_width = 8;
constexpr double terminal_period_seconds = 0.2;

double seconds_between(std::chrono::steady_clock::time_point a, std::chrono::steady_clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string bar(const Screen& screen, double share, int width) {
  const int full = std::clamp(static_cast<int>(std::lround(share * width)), 0, width);
  const std::string done(static_cast<std::size_t>(full), '=');
  const std::string rest(static_cast<std::size_t>(width - full), ' ');
  return screen.colour ? fmt::format("[\033[36m{}\033[0m{}]", done, rest) : fmt::format("[{}{}]", done, rest);
}

}  // namespace

Screen standard_error_screen() {
  Screen screen;
  const std::string terminal = environment("TERM");
  screen.terminal = isatty(STDERR_FILENO) == 1 && terminal != "dumb";
  screen.colour = screen.terminal && !terminal.empty() && environment("NO_COLOR").empty();
  winsize size = {};
  if (screen.terminal && ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    screen.columns = size.ws_col;
  return screen;
}

std::string progress_line(const Screen& screen, double share, const std::string& text) {
  const int most = screen.columns - 1;  // some terminals wrap after the last column
  const int width = std::min(bar_width, most - static_cast<int>(text.size()) - 3);
  if (width < least_bar_width) return text.substr(0, static_cast<std::size_t>(std::max(0, most)));
  return bar(screen, share, width) + " " + text;
}

double plain_period(double elapsed_seconds) { return std::clamp(elapsed_seconds / 20.0, 3.0, 60.0); }

Progress::Progress(std::int64_t first_step, std::int64_t steps, double amount_per_step, std::string unit,
                   const Screen& screen)
    : first_step_(first_step),
      steps_(steps),
      amount_per_step_(amount_per_step),
      unit_(std::move(unit)),
      screen_(screen) {}

bool Progress::due(std::int64_t step) const {
  if (step == first_step_ || step + 1 == steps_) return true;
  const Clock::time_point now = Clock::now();
  return seconds_between(shown_, now) >=
         (screen_.terminal ? terminal_period_seconds : plain_period(seconds_between(start_, now)));
}

/// Of the steps so far, but for the first where there are others.
double Progress::seconds_per_step(std::int64_t step) const {
  if (step == first_step_) return seconds_between(start_, warm_);
  return seconds_between(warm_, shown_) / static_cast<double>(step - first_step_);
}

void Progress::clear_line() const {
  if (line_open_) std::fputs("\r\033[K", stderr);
}

void Progress::step(std::int64_t step, const std::string& numbers) {
  if (step == first_step_) warm_ = Clock::now();
  if (verbosity() == Verbosity::quiet || !due(step)) return;
  shown_ = Clock::now();
  const double seconds = seconds_per_step(step);
  const std::string line = fmt::format("step {:>{}}/{}  {}  {} {}/s  {} left", step + 1, std::to_string(steps_).size(),
                                       steps_, numbers, format_count(amount_per_step_ / seconds), unit_,
                                       format_duration(seconds * static_cast<double>(steps_ - step - 1)));
  if (!screen_.terminal) {
    log_info("{}", line);
    return;
  }
  clear_line();
  fmt::print(stderr, "{}", progress_line(screen_, static_cast<double>(step + 1) / static_cast<double>(steps_), line));
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
