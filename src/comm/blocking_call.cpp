#include "comm/blocking_call.hpp"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/signals.hpp"
#include "base/units.hpp"
#include "comm/launcher.hpp"

namespace pptrain {
namespace {

std::atomic<double> timeout_seconds = 0.0;

/// Who is stopped, as far as this host can see.
std::string culprits(const std::vector<StoppedRank>& stopped_here) {
  std::string text;
  for (const StoppedRank& stopped : stopped_here) {
    text += fmt::format("{}rank {} is stopped, process {} of this host", text.empty() ? "" : ", ",
                        stopped.rank, stopped.process);
  }
  return text.empty() ? "a rank does not come: the one that says nothing" : text;
}

/// Stopped ranks go on, for the launcher to end them with the others: one of them may be stopped
/// while it connects to mpirun, which then waits for itself where it ends the rank in the middle of
/// that (Open MPI 4.1 with PMIx 4.2).
[[noreturn]] void end_process(const std::string& doing, double seconds) {
  const std::vector<StoppedRank> stopped_here = stopped_ranks();
  log_error("{}",
            format_complaint(
                {fmt::format("rank {}, {}", launched_rank().value_or(0), doing),
                 fmt::format("waited longer than {} for the other ranks", format_seconds(seconds)),
                 culprits(stopped_here),
                 "look at that rank's process and host, or raise [job] timeout"}));
  for (const StoppedRank& stopped : stopped_here) ::kill(stopped.process, SIGCONT);
  std::this_thread::sleep_for(std::chrono::seconds(2));  // a launcher ends the others with the
                                                         // first
  std::_Exit(static_cast<int>(ExitCode::runtime_failure));
}

}  // namespace

BlockingTimeout::BlockingTimeout(double seconds) : before_(timeout_seconds.exchange(seconds)) {}

BlockingTimeout::~BlockingTimeout() { timeout_seconds = before_; }

double BlockingTimeout::seconds() { return timeout_seconds; }

BlockingCall::BlockingCall(std::string doing) : doing_(std::move(doing)) {
  const double seconds = timeout_seconds;
  if (seconds > 0.0) thread_ = std::thread([this, seconds] { watch(seconds); });
}

BlockingCall::~BlockingCall() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

/// A process that was stopped itself finds its time over when it goes on: it takes it in pieces.
void BlockingCall::watch(double seconds) {
  block_signals();
  constexpr int pieces = 8;
  std::unique_lock lock(mutex_);
  for (int piece = 0; piece < pieces; ++piece) {
    if (ended_.wait_for(lock, std::chrono::duration<double>(seconds / pieces),
                        [this] { return has_ended_; }))
      return;
  }
  end_process(doing_, seconds);
}

}  // namespace pptrain
