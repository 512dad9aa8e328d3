#include "comm/waiter.hpp"

#include <sys/prctl.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/timing.hpp"
#include "base/units.hpp"
#include "comm/alarm.hpp"
#include "comm/yield.hpp"

namespace pptrain {

Waiter::Waiter(double timeout_seconds, CoreUse core_use)
    : timeout_seconds_(timeout_seconds), core_use_(core_use) {
  // The default slack would stretch the shortest sleeps by 50 us.
  prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
}

long Waiter::rounds_before_naps() const { return core_use_ == CoreUse::own ? 4000 : 8; }

void Waiter::pause(long round) const {
  const long awake = rounds_before_naps();
  if (round < awake / 2) return;
  if (round < awake) {
    sched_yield();
    return;
  }
  const long sleeps = round - awake;
  const double longest = core_use_ == CoreUse::own ? 50e-6 : 500e-6;
  sleep_until(wall_seconds() + std::min(longest, 10e-6 * static_cast<double>(1 + sleeps)));
}

void Waiter::set_timeout(double seconds) {
  timeout_seconds_ = seconds;
  if (pulse_ != nullptr) pulse_->set_timeout(seconds);
}

std::string Waiter::where(const std::function<std::string()>& doing) const {
  const std::string at = place();
  const std::string what = doing();
  return at.empty() || what.empty() ? at + what : at + ", " + what;
}

void Waiter::check(double waited_seconds, const Pending& pending,
                   const std::function<std::string()>& doing) const {
  if (pulse_ != nullptr) {
    if (const std::optional<int> silent = pulse_->look()) {
      throw_runtime_failure(
          {where(doing),
           fmt::format("waited {} for {}", format_seconds(waited_seconds), pending.missing()),
           pulse_->silence(*silent),
           fmt::format("look at the process of rank {}, or raise [job] timeout", *silent)});
    }
    // A rank that gives no sign is found before: where all give theirs and none computes, all wait
    // for each other.
    waited_seconds = std::min(waited_seconds, pulse_->idle_seconds() / 2.0);
  }
  const std::optional<Alarm::Call> call = alarm_ == nullptr ? std::nullopt : alarm_->heard();
  if (!call && waited_seconds <= timeout_seconds_) return;
  if (alarm_ != nullptr) alarm_->raise(call ? call->reason : Alarm::Reason::waited);
  const std::string missing = pending.missing();
  if (call) {
    const char* what = call->reason == Alarm::Reason::waited ? "given up waiting" : "failed";
    throw_runtime_failure({where(doing),
                           fmt::format("waited {} for {}", format_seconds(waited_seconds), missing),
                           fmt::format("rank {} has {}", call->rank, what),
                           "look at the messages of the other ranks"});
  }
  throw_runtime_failure(
      {where(doing),
       fmt::format("waited longer than {} for {}", format_seconds(timeout_seconds_), missing),
       "it did not come", "look at that rank's messages, or raise [job] timeout"});
}

void Waiter::wait(Pending& pending, const std::function<std::string()>& doing) {
  if (observer_) observer_(WaitEdge::begin);
  seconds_ += poll(pending, doing);
  if (observer_) observer_(WaitEdge::end);
}

void Waiter::wait_for_own(Pending& pending) {
  poll(pending, [] { return std::string(); });
}

double Waiter::poll(Pending& pending, const std::function<std::string()>& doing) {
  // The first look may already copy what has come; whether it does depends on who was sooner.
  const double cpu_start = thread_cpu_seconds();
  const double start = wall_seconds();
  if (pulse_ != nullptr) check(0.0, pending, doing);  // also where no wait is long
  for (long round = 0; !pending.join(); ++round) {
    if (beside_) beside_();
    pause(round);
    // Looking at the clock costs more than a poll, but less than a yield or a nap, of which each
    // may take a tenth of a second on a busy host: others would hear of this rank too late.
    const bool polls = round < rounds_before_naps() / 2;
    if (!polls || round % 256 == 15) check(wall_seconds() - start, pending, doing);
  }
  cpu_seconds_ += thread_cpu_seconds() - cpu_start;
  return wall_seconds() - start;
}

double Waiter::take_seconds() { return std::exchange(seconds_, 0.0); }

double Waiter::take_cpu_seconds() { return std::exchange(cpu_seconds_, 0.0); }

}  // namespace pptrain
