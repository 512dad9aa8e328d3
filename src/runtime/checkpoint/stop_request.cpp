#include "runtime/checkpoint/stop_request.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include "base/signals.hpp"

namespace pptrain {
namespace {

std::atomic<bool> signalled = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

void note_signal(int) { signalled.store(true, std::memory_order_relaxed); }

using SteadyTime = std::chrono::steady_clock::time_point;

/// Slurm's is a time of day.
std::optional<SteadyTime> slurm_end() {
  const char* text = std::getenv("SLURM_JOB_END_TIME");
  if (text == nullptr) return std::nullopt;
  const std::string_view digits(text);
  std::int64_t seconds = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
  if (read.ec != std::errc() || seconds <= 0) return std::nullopt;
  using SystemClock = std::chrono::system_clock;
  const auto left = SystemClock::time_point(std::chrono::seconds(seconds)) - SystemClock::now();
  return std::chrono::steady_clock::now() + std::chrono::duration_cast<SteadyTime::duration>(left);
}

}  // namespace

void catch_stop_signals() {
  catch_signal(SIGUSR1, note_signal);
  if (std::getenv("OMPI_COMM_WORLD_RANK") == nullptr) catch_signal(SIGTERM, note_signal);
}

void leave_stop_signals() {
  std::signal(SIGUSR1, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

StopRequest::StopRequest(const JobConfig& job) : end_(slurm_end()) {
  if (job.time_limit <= 0.0) return;
  const auto limit = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(job.time_limit));
  const Clock::time_point own = Clock::now() + limit;
  end_ = end_ ? std::min(*end_, own) : own;
}

bool StopRequest::wanted() const { return signalled.load(std::memory_order_relaxed) || out_of_time(); }

bool StopRequest::out_of_time() const {
  if (!end_) return false;
  return std::chrono::duration<double>(*end_ - Clock::now()).count() < needed_seconds_;
}

const char* StopRequest::reason() const {
  if (signalled.load(std::memory_order_relaxed)) return "a signal asked for it";
  return out_of_time() ? "the time is almost over" : "another rank asked for it";
}

}  // namespace pptrain
