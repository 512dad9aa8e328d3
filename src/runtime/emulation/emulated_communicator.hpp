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
  PendingPtr start(Collective collective, void* data, DType type,
                   const std::vector<Interval>& slices) override {
    return real_->start(collective, data, type, slices);
  }
  void run(Collective collective, float* data, const std::vector<Interval>& slices) override {
    real_->run(collective, data, slices);
  }
  bool queues_collectives() const override { return real_->queues_collectives(); }
  void sum_on_host(double* data, std::size_t n) override { real_->sum_on_host(data, n); }
  void all_to_all(const void* from, const std::vector<std::size_t>& sent, void* to,
                  const std::vector<std::size_t>& received) override {
    real_->all_to_all(from, sent, to, received);
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

  PendingPtr start(Collective collective, void* data, DType type,
                   const std::vector<Interval>& slices) override;
  void run(Collective collective, float* data, const std::vector<Interval>& slices) override;
  void sum_on_host(double* data, std::size_t n) override;
  void all_to_all(const void* from, const std::vector<std::size_t>& sent, void* to,
                  const std::vector<std::size_t>& received) override;

 private:
  double seconds_of(Collective collective, const std::vector<Interval>& slices,
                    std::size_t element_bytes) const;
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
  PendingPtr start(Collective collective, void* data, DType type,
                   const std::vector<Interval>& slices) override;

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
  void run(Collective collective, float* data, const std::vector<Interval>& slices) override;
  void sum_on_host(double* data, std::size_t n) override;

 private:
  EmulatedClock& clock_;
};

}  // namespace pptrain
