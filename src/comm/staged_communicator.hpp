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
  PendingPtr start(Collective collective, void* data, DType type,
                   const std::vector<Interval>& slices) override;
  void run(Collective collective, float* data, const std::vector<Interval>& slices) override {
    wait(start(collective, data, DType::f32, slices));
  }
  void sum_on_host(double* data, std::size_t n) override { host_->sum_on_host(data, n); }
  void all_to_all(const void* from, const std::vector<std::size_t>& sent, void* to,
                  const std::vector<std::size_t>& received) override;

 private:
  void wait(const PendingPtr& pending);

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
