#include "base/stop.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

namespace pptrain {
namespace {

std::atomic<bool> end_searches = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

}  // namespace

Stop::Stop(double seconds) {
  constexpr double longest = 1e9;  // what the clock can count
  if (seconds <= 0.0 || seconds > longest) return;
  end_ = Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

bool Stop::requested() const {
  if (searches_interrupted()) return true;
  return end_ != Clock::time_point::max() && Clock::now() >= end_;
}

double Stop::seconds_left() const {
  if (searches_interrupted()) return 0.0;
  if (end_ == Clock::time_point::max()) return std::numeric_limits<double>::infinity();
  return std::max(0.0, std::chrono::duration<double>(end_ - Clock::now()).count());
}

Stop Stop::within(double seconds) const {
  Stop sooner(std::max(seconds, 1e-9));
  sooner.end_ = std::min(sooner.end_, end_);
  return sooner;
}

void interrupt_searches() noexcept { end_searches.store(true, std::memory_order_relaxed); }
bool searches_interrupted() noexcept { return end_searches.load(std::memory_order_relaxed); }

}  // namespace pptrain
