#include "planners/ask/progress.hpp"

namespace pptrain {

void SearchProgress::asks(const std::string& planner) {
  const std::lock_guard lock(mutex_);
  status_.planner = planner;
}

void SearchProgress::examined(std::int64_t more) {
  const std::lock_guard lock(mutex_);
  status_.candidates += more;
}

void SearchProgress::found(double iteration_seconds) {
  const std::lock_guard lock(mutex_);
  if (!status_.best_seconds || iteration_seconds < *status_.best_seconds)
    status_.best_seconds = iteration_seconds;
}

void SearchProgress::judges_anew() {
  const std::lock_guard lock(mutex_);
  status_.best_seconds.reset();
}

SearchStatus SearchProgress::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

}  // namespace pptrain
