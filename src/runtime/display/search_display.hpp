#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "planners/ask/progress.hpp"
#include "runtime/display/progress.hpp"

namespace pptrain {

/// `planning for 0:12, asking alpa, 1.23k candidates, best 210 ms`: what may be cut off at a
/// screen's edge comes last.
std::string search_line(const SearchStatus& status, double seconds);

/// Shows how far a search is while it lives, once that takes longer than a person waits without a
/// word: on a terminal in a line that is rewritten and goes with it, else in a line now and then.
/// Nothing when quiet. Nothing else may be logged meanwhile.
class SearchDisplay {
 public:
  explicit SearchDisplay(const SearchProgress& progress,
                         const Screen& screen = standard_error_screen(),
                         std::chrono::milliseconds silent = std::chrono::seconds(1));
  ~SearchDisplay();
  SearchDisplay(const SearchDisplay&) = delete;
  SearchDisplay& operator=(const SearchDisplay&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  void show_until_done();

  const SearchProgress& progress_;
  Screen screen_;
  std::chrono::milliseconds silent_;
  Clock::time_point start_ = Clock::now();
  std::mutex mutex_;
  std::condition_variable ends_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace pptrain
