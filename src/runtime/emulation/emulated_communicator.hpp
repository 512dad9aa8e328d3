#pragma once

#include <memory>

#include "cluster/cluster.hpp"
#include "comm/communicator.hpp"
#include "comm/waiter.hpp"
#include "runtime/emulation/emulated_lane.hpp"

namespace pptrain {

/// Another communicator, but for what is decorated.
class ForwardingCommunicator : public Communicator {
 public:
  explicit ForwardingCommunicator(std::unique_ptr<Communicator> real) : real_(std::move(real)) {}

  int rank() const override { return real_->rank(); }
  int size() const override { return real_->size(); }
  void all_reduce_sum(float* data, std::size_t n) override { real_->all_reduce_sum(data, n); }
  void all_reduce_sum(double* data, std::size_t n) override { real_->all_reduce_sum(data, n); }
  void all_reduce_max(float* data, std::size_t n) override { real_->all_reduce_max(data, n); }
  void all_gather(float* data, const std::vector<Interval>& slices) override {
    real_->all_gather(data, slices);
  }
  void all_to_all(const void* from, const std::vector<std::size_t>& sent, void* to,
                  const std::vector<std::size_t>& received) override {
    real_->all_to_all(from, sent, to, received);
  }
  PendingPtr start_all_reduce_sum(float* data, std::size_t n) override {
    return real_->start_all_reduce_sum(data, n);
  }
  PendingPtr start_reduce_scatter_sum(float* data, const std::vector<Interval>& slices) override {
    return real_->start_reduce_scatter_sum(data, slices);
  }
  PendingPtr start_all_gather(float* data, const std::vector<Interval>& slices) override {
    return real_->start_all_gather(data, slices);
  }
  PendingPtr start_all_reduce_sum(BFloat16* data, std::size_t n) override {
    return real_->start_all_reduce_sum(data, n);
  }
  PendingPtr start_reduce_scatter_sum(BFloat16* data,
                                      const std::vector<Interval>& slices) override {
    return real_->start_reduce_scatter_sum(data, slices);
  }
  PendingPtr start_all_gather(BFloat16* data, const std::vector<Interval>& slices) override {
    return real_->start_all_gather(data, slices);
  }

 private:
  std::unique_ptr<Communicator> real_;
};

/// Collectives whose data another communicator moves and which end when those of the emulated
/// cluster would.
class EmulatedCommunicator final : public ForwardingCommunicator {
 public:
  /// `link`: the slowest between two members. `others`: the members but this rank.
  EmulatedCommunicator(std::unique_ptr<Communicator> real, const Link& link,
                       std::vector<RankId> others, EmulatedLane lane, Waiter& waiter)
      : ForwardingCommunicator(std::move(real)),
        link_(link),
        others_(std::move(others)),
        lane_(std::move(lane)),
        waiter_(waiter) {}

  void all_reduce_sum(float* data, std::size_t n) override;
  void all_reduce_sum(double* data, std::size_t n) override;
  void all_reduce_max(float* data, std::size_t n) override;
  void all_gather(float* data, const std::vector<Interval>& slices) override;
  void all_to_all(const void* from, const std::vector<std::size_t>& sent, void* to,
                  const std::vector<std::size_t>& received) override;
  PendingPtr start_all_reduce_sum(float* data, std::size_t n) override;
  PendingPtr start_reduce_scatter_sum(float* data, const std::vector<Interval>& slices) override;
  PendingPtr start_all_gather(float* data, const std::vector<Interval>& slices) override;
  PendingPtr start_all_reduce_sum(BFloat16* data, std::size_t n) override;
  PendingPtr start_reduce_scatter_sum(BFloat16* data, const std::vector<Interval>& slices) override;
  PendingPtr start_all_gather(BFloat16* data, const std::vector<Interval>& slices) override;

 private:
  double sum_seconds(double bytes) const;
  /// Seconds of an all-gather, or of a reduce-scatter, which takes as long.
  double gather_seconds(const std::vector<Interval>& slices, std::size_t element_bytes) const;
  PendingPtr start_time(double seconds) { return lane_.start(others_, seconds); }
  void end_with(double seconds);

  Link link_;
  std::vector<RankId> others_;
  EmulatedLane lane_;
  Waiter& waiter_;
};

/// A tensor-parallel group: its sums count in the layers' time, the gathers of what it received
/// take their own.
class EmulatedGathers final : public ForwardingCommunicator {
 public:
  EmulatedGathers(std::unique_ptr<Communicator> real, const Link& link, std::vector<RankId> others,
                  EmulatedLane lane)
      : ForwardingCommunicator(std::move(real)),
        link_(link),
        others_(std::move(others)),
        lane_(std::move(lane)) {}
  PendingPtr start_all_gather(float* data, const std::vector<Interval>& slices) override;

 private:
  Link link_;
  std::vector<RankId> others_;
  EmulatedLane lane_;
};

/// Sums over all ranks, which take no time; all have come to the time of the last one then,
/// lateness included.
class EmulatedSums final : public ForwardingCommunicator {
 public:
  EmulatedSums(std::unique_ptr<Communicator> real, EmulatedClock& clock)
      : ForwardingCommunicator(std::move(real)), clock_(clock) {}
  void all_reduce_sum(float* data, std::size_t n) override;
  void all_reduce_sum(double* data, std::size_t n) override;
  void all_reduce_max(float* data, std::size_t n) override;

 private:
  EmulatedClock& clock_;
};

}  // namespace pptrain
