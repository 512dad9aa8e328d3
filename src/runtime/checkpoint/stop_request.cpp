#include "runtime/checkpoint/stop_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include "base/log.hpp"
#include "base/signals.hpp"

namespace pptrain {
namespace {

std::atomic<bool> signalled = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

bool under_mpirun = false;

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

/// How long Open MPI's mpirun lets ranks live after its SIGTERM: as many seconds as
/// odls_base_sigkill_timeout says, by default one; with 4.1.4 up to one less when a rank has ended.
std::chrono::milliseconds time_from_mpirun() {
  constexpr std::int64_t spare_ms = 300;  // for the line that is written last
  const char* text = std::getenv("OMPI_MCA_odls_base_sigkill_timeout");
  const std::int64_t seconds =
      text == nullptr ? 1 : std::clamp<std::int64_t>(std::atoll(text), 1, 1'000'000);
  return std::chrono::milliseconds(1000 * seconds - spare_ms);
}

}  // namespace

void catch_stop_signals(bool by_mpirun) {
  catch_signal(SIGUSR1, note_signal);
  under_mpirun = by_mpirun;
  if (!by_mpirun) catch_signal(SIGTERM, note_signal);
}

void leave_stop_signals() {
  std::signal(SIGUSR1, SIG_DFL);
  if (!under_mpirun) std::signal(SIGTERM, SIG_DFL);
}

void ignore_stop_signals() {
  std::signal(SIGUSR1, SIG_IGN);
  if (!under_mpirun) std::signal(SIGTERM, SIG_IGN);
}

HeldInterrupts hold_interrupts(const CheckpointConfig& checkpoint) {
  if (under_mpirun) return HeldInterrupts(time_from_mpirun());
  const bool saves = checkpoint.interval > 0;
  const std::string notice =
      fmt::format("Interrupted: {} after this step; Ctrl-C again ends at once",
                  saves ? "saving and ending" : "ending");
  constexpr std::chrono::seconds longest_unsaved(5);
  return HeldInterrupts(
      saves ? std::nullopt : std::optional<std::chrono::milliseconds>(longest_unsaved),
      verbosity() == Verbosity::quiet ? "" : notice);
}

StopRequest::StopRequest(const JobConfig& job) : end_(slurm_end()) {
  if (job.time_limit <= 0.0) return;
  const auto limit =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(job.time_limit));
  const Clock::time_point own = Clock::now() + limit;
  end_ = end_ ? std::min(*end_, own) : own;
}

StopWish StopRequest::wish() const {
  if (interrupted()) return StopWish::interrupted;
  return signalled.load(std::memory_order_relaxed) || out_of_time() ? StopWish::requested
                                                                    : StopWish::none;
}

bool StopRequest::out_of_time(double seconds_ahead) const {
  if (!end_) return false;
  const double left = std::chrono::duration<double>(*end_ - Clock::now()).count();
  return left - seconds_ahead < needed_seconds_;
}

const char* StopRequest::reason() const {
  if (signalled.load(std::memory_order_relaxed)) return "a signal asked for it";
  // The time of another rank may have begun a moment before this one's.
  constexpr double most_apart = 1.0;
  return out_of_time(most_apart) ? "the time is almost over" : "another rank asked for it";
}

}  // namespace pptrain
