#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace pptrain {

/// How far a search is.
struct SearchStatus {
  std::string planner;          ///< that is being asked, or what else is done; "": nothing yet
  std::int64_t candidates = 0;  ///< looked at so far, those of a planner when it has ended
  std::optional<double> best_seconds;  ///< iteration of the best plan so far, by the form that is
                                       ///< searched by
};

/// What a search tells while it goes on, to be read from another thread.
class SearchProgress {
 public:
  /// Sets what is being done: the planner that is asked, or another step.
  void asks(const std::string& planner);
  /// Adds candidates that were looked at.
  void examined(std::int64_t more);
  /// Takes the seconds of a plan as the best time if they are less.
  void found(double iteration_seconds);
  /// Forgets the best time, since plans are judged by another form from here on.
  void judges_anew();
  /// A copy of what was told so far.
  SearchStatus status() const;

 private:
  mutable std::mutex mutex_;
  SearchStatus status_;
};

}  // namespace pptrain
