#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "comm/pending.hpp"
#include "comm/pulse.hpp"

namespace pptrain {

class Alarm;

/// Whether this rank has a core of its own or must leave it to others while it waits.
enum class CoreUse { own, shared };

/// Where a wait is.
enum class WaitEdge { begin, end };

/// Waits for pending operations without wasting the core.
///
/// Open MPI has no progress thread and spins in its own waits: with several ranks to a core that
/// time is taken from ranks that compute. Here a rank polls, then yields, then sleeps.
class Waiter {
 public:
  /// `timeout_seconds`: the longest wait for a peer; beyond it `wait` throws `Error`, exit code 4.
  Waiter(double timeout_seconds, CoreUse core_use);

  /// Tells every rank when a wait of this one took too long, and ends waits of this one when
  /// another tells so.
  void listen(Alarm* alarm) { alarm_ = alarm; }
  /// For ranks that wait for long work of others: a wait is too long only where a rank gives no
  /// sign for so long, which is then named, or where all wait. Null: as if it were not there.
  void heed(std::shared_ptr<Pulse> pulse) { pulse_ = std::move(pulse); }
  /// The signs of life of other ranks, which may work for longer than the timeout; null: none.
  Pulse* pulse() const { return pulse_.get(); }
  /// Sets what says where this rank is, for the message of a timeout: rank, stage, instruction.
  void name_place(std::function<std::string()> place) { place_ = std::move(place); }

  /// Sets how waits from now on treat the core: they leave a shared one sooner, and for longer.
  void set_core_use(CoreUse core_use) { core_use_ = core_use; }
  /// Longest wait for a peer, in seconds.
  double timeout_seconds() const { return timeout_seconds_; }
  /// Sets the timeout of waits and of the pulse.
  void set_timeout(double seconds);
  /// Place of this rank for messages, by the function that `name_place` was given; "" where it was
  /// given none.
  std::string place() const { return place_ ? place_() : ""; }
  /// What goes on beside every wait, lest two ranks wait for what each has yet to send; empty:
  /// nothing.
  void move_beside(std::function<void()> beside) { beside_ = std::move(beside); }

  /// Called as a wait begins and as it ends; empty: nothing is.
  void observe(std::function<void(WaitEdge)> observer) { observer_ = std::move(observer); }

  /// Returns once what follows is ordered behind `pending` (`Pending::join`). `doing` tells what
  /// for, for the message of a timeout; it may be empty where the place says it.
  void wait(Pending& pending, const std::function<std::string()>& doing);
  /// Returns once what follows is ordered behind `pending`, which waits for no other rank: the wait
  /// is neither counted nor observed.
  void wait_for_own(Pending& pending);

  /// Seconds spent in `wait` since the last call of this.
  double take_seconds();
  /// CPU seconds of this thread that were spent in `wait`, since the last call of this.
  double take_cpu_seconds();

 private:
  /// Seconds that it took.
  double poll(Pending& pending, const std::function<std::string()>& doing);
  /// Polls, half of them one after another and half with a yield between; after these come naps.
  long rounds_before_naps() const;
  void pause(long round) const;
  void check(double waited_seconds, const Pending& pending,
             const std::function<std::string()>& doing) const;
  std::string where(const std::function<std::string()>& doing) const;

  double timeout_seconds_;
  CoreUse core_use_;
  Alarm* alarm_ = nullptr;
  std::shared_ptr<Pulse> pulse_;
  std::function<std::string()> place_;
  std::function<void()> beside_;
  std::function<void(WaitEdge)> observer_;
  double seconds_ = 0.0;
  double cpu_seconds_ = 0.0;
};

}  // namespace pptrain
