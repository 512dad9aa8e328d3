#pragma once

#include <chrono>
#include <optional>

#include "base/interrupt.hpp"
#include "config/config.hpp"
#include "runtime/execute/stop_wish.hpp"

namespace pptrain {

/// From now on SIGUSR1, and SIGTERM where the launcher leaves time for it, ask the training to stop
/// instead of ending the program. mpirun kills ranks a second after it has passed SIGTERM on, so
/// that under it this one is an interrupt (base/interrupt.hpp). Call on the main thread.
void catch_stop_signals(bool by_mpirun);

/// Lets stop signals end the program again: for what has nothing to save.
void leave_stop_signals();

/// Makes stop signals do nothing any more: for a rank that ends because of such a request. The
/// ranks agree on a stop, so that its own signal may come when the others have long followed
/// theirs.
void ignore_stop_signals();

/// While a training runs: the first Ctrl-C lets it end after the present step, with a checkpoint
/// where these are written, as far as the launcher leaves time for that. Without checkpoints it
/// ends within seconds.
HeldInterrupts hold_interrupts(const CheckpointConfig& checkpoint);

/// Whether this rank wants the training to stop after the present iteration: a signal or Ctrl-C
/// came, or the end of the time is so near that what is still to be done just fits.
class StopRequest {
 public:
  /// The time of `[job] time_limit` begins now. The end of a Slurm job (SLURM_JOB_END_TIME) counts
  /// too.
  explicit StopRequest(const JobConfig& job);

  /// What this rank alone wants at the moment: Ctrl-C goes before a signal or the end of the time.
  StopWish wish() const;
  /// What is still to be done when the training stops takes this long.
  void need(double seconds) { needed_seconds_ = seconds; }
  /// Why, for a message; "another rank asked for it" on a rank that knows no reason.
  const char* reason() const;

 private:
  using Clock = std::chrono::steady_clock;  // the time of day may be corrected while the job runs
  /// Whether what is still to be done will not fit any more in so many seconds.
  bool out_of_time(double seconds_ahead = 0.0) const;

  std::optional<Clock::time_point> end_;
  double needed_seconds_ = 0.0;
};

}  // namespace pptrain
