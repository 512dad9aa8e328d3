#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/mpi_communicator.hpp"
#include "comm/staging.hpp"

namespace pptrain {

/// A group of ranks over MPI, on memory of devices that MPI does not reach, by way of the host.
/// Several ranks may so share a device. Sums are those of `MpiCommunicator`, bit for bit.
class StagedCommunicator final : public Communicator {
 public:
  /// `name` and the waiter serve messages of a timeout; `host` has blocks of `staging`.
  StagedCommunicator(std::unique_ptr<MpiCommunicator> host, Staging& staging, std::string name,
                     Waiter& waiter)
      : host_(std::move(host)), staging_(staging), name_(std::move(name)), waiter_(waiter) {}

  int rank() const override { return host_->rank(); }
  int size() const override { return host_->size(); }
  void all_reduce_sum(float* data, std::size_t n) override { wait(start_all_reduce_sum(data, n)); }
  void all_reduce_sum(double* data, std::size_t n) override { host_->all_reduce_sum(data, n); }
  void all_reduce_max(float* data, std::size_t n) override;
  void all_gather(float* data, const std::vector<Interval>& slices) override {
    wait(start_all_gather(data, slices));
  }
  void all_to_all(const void* from, const std::vector<std::size_t>& sent, void* to,
                  const std::vector<std::size_t>& received) override;
  PendingPtr start_all_reduce_sum(float* data, std::size_t n) override;
  PendingPtr start_reduce_scatter_sum(float* data, const std::vector<Interval>& slices) override;
  PendingPtr start_all_gather(float* data, const std::vector<Interval>& slices) override;
  PendingPtr start_all_reduce_sum(BFloat16* data, std::size_t n) override;
  PendingPtr start_reduce_scatter_sum(BFloat16* data, const std::vector<Interval>& slices) override;
  PendingPtr start_all_gather(BFloat16* data, const std::vector<Interval>& slices) override;

 private:
  void wait(const PendingPtr& pending);
  template <class T>
  PendingPtr start_whole(T* data, std::size_t n, std::function<PendingPtr(T* block)> move);
  template <class T>
  PendingPtr start_scatter(T* data, const std::vector<Interval>& slices);
  template <class T>
  PendingPtr start_gather(T* data, const std::vector<Interval>& slices);

  std::unique_ptr<MpiCommunicator> host_;
  Staging& staging_;
  std::string name_;
  Waiter& waiter_;
};

/// Messages of memory of a device, by way of the host.
class StagedTransport final : public Transport {
 public:
  StagedTransport(std::unique_ptr<Transport> host, Staging& staging)
      : host_(std::move(host)), staging_(staging) {}

  PendingPtr send(RankId to, int tag, const void* data, std::size_t bytes) override;
  PendingPtr receive(RankId from, int tag, void* data, std::size_t bytes) override;
  int num_tags() const override { return host_->num_tags(); }

 private:
  std::unique_ptr<Transport> host_;
  Staging& staging_;
};

}  // namespace pptrain
