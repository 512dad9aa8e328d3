#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/infinity.hpp"
#include "schedule/schedule.hpp"

namespace pptrain {

/// When the tasks of one kind of a chunk, F or B, can start: what they need arrives micro-batch by
/// micro-batch, in order. A rank that is busy needs no event for what arrives meanwhile, and one
/// that waits needs one for the next arrival only, so that events stay few where links hold much
/// back.
class Arrivals {
 public:
  /// Begins anew; all micro-batches can start at `time` seconds.
  void begin(int micro_batches, double time) {
    times_.assign(static_cast<std::size_t>(micro_batches) + 1, time);
    times_.back() = infinity;
    next_ = sent_ = awaited_ = 0;
    ready_ = times_.front();
    waits_ = false;
  }

  /// The micro-batch whose task is next.
  int next() const { return next_; }
  /// When that can start, in seconds; infinite where that is not known yet, or none is left.
  double ready() const { return ready_; }
  /// The next one, which is taken.
  MicroBatchId take() {
    ready_ = times_[static_cast<std::size_t>(next_) + 1];
    return MicroBatchId(next_++);
  }

  /// What a micro-batch needs arrives at `time`, as far as is known now.
  void expect(int micro_batch, double time) {
    times_[static_cast<std::size_t>(micro_batch)] = time;
    if (micro_batch == next_) ready_ = time;
  }
  /// What a micro-batch needs is sent and arrives at `time`, which stays.
  void send(int micro_batch, double time) {
    expect(micro_batch, time);
    ++sent_;
  }

  /// Whether an event is there for one of those that were sent.
  bool waits() const { return waits_; }
  /// When the next of those that were sent arrives for which the rank, busy until `busy_until`,
  /// needs an event; nothing where none does.
  std::optional<double> await(double busy_until) {
    while (awaited_ < sent_ && times_[static_cast<std::size_t>(awaited_)] < busy_until) ++awaited_;
    waits_ = awaited_ < sent_;
    if (!waits_) return std::nullopt;
    return times_[static_cast<std::size_t>(awaited_++)];
  }

 private:
  std::vector<double> times_;  // by micro-batch, and infinity behind the last
  int next_ = 0;
  double ready_ = infinity;
  int sent_ = 0;     // micro-batches whose time is final
  int awaited_ = 0;  // of these, for which an event is there or was, or is not needed
  bool waits_ = false;
};

}  // namespace pptrain
