#include "runtime/display/search_display.hpp"

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/rewritten_line.hpp"
#include "base/signals.hpp"
#include "base/units.hpp"

namespace pptrain {
std::string search_line(const SearchStatus& status, double seconds) {
  std::string line = "planning for " + format_duration(seconds);
  if (!status.planner.empty()) line += ", " + status.planner;
  if (status.candidates > 0)
    line += fmt::format(", {} candidates", format_count(static_cast<double>(status.candidates)));
  if (status.best_seconds) line += fmt::format(", best {}", format_seconds(*status.best_seconds));
  return line;
}

SearchDisplay::SearchDisplay(const SearchProgress& progress, const Screen& screen,
                             std::chrono::milliseconds silent)
    : progress_(progress), screen_(screen), silent_(silent) {
  if (verbosity() != Verbosity::quiet) thread_ = std::thread([this] { show_until_done(); });
}

SearchDisplay::~SearchDisplay() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  ends_.notify_all();
  thread_.join();
  clear_rewritten_line();
}

void SearchDisplay::show_until_done() {
  block_signals();
  constexpr std::chrono::milliseconds terminal_period(200);
  std::unique_lock lock(mutex_);
  std::chrono::milliseconds pause = silent_;
  while (!ends_.wait_for(lock, pause, [this] { return done_; })) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    const std::string line = search_line(progress_.status(), seconds);
    if (screen_.terminal) {
      rewrite_line(line.substr(0, static_cast<std::size_t>(screen_.columns - 1)));
      pause = terminal_period;
    } else {
      log_info("{}", line);
      pause = std::chrono::milliseconds(static_cast<long>(1000.0 * plain_period(seconds)));
    }
  }
}

}  // namespace pptrain
