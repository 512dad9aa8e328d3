#pragma once

#include <nccl.h>

#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "comm/mpi_communicator.hpp"
#include "cuda/device.hpp"

namespace pptrain {

/// A group of ranks, each with a GPU of its own, over NCCL.
///
/// The group has a stream: what it is told follows what the device was told before, and goes on
/// beside what the device is told after, until that is ordered behind it (`Pending::join`). The
/// host waits for neither. Nothing of NCCL blocks: a call may still be going on when it returns
/// (connections are made by the first one), and the next one follows when it has ended, which
/// `progress` looks after.
///
/// Sums are formed in the order that NCCL chooses for the machine and the size, the same in every
/// run on it; it is not that of the members. NCCL would round sums of bf16 at each addition: each
/// member gets what the others hold of its slice instead, and adds it up in the order of the
/// members.
class NcclCommunicator final : public Communicator {
 public:
  /// Collective over the members of `host`, which carries NCCL's name of the group and sums of
  /// doubles. `of_device`: where all such groups of the device are listed.
  NcclCommunicator(CudaDevice& device, std::list<NcclCommunicator*>& of_device,
                   std::unique_ptr<MpiCommunicator> host, std::string name, Waiter& waiter);
  /// Waits for what goes on, but not where an error ends the job.
  ~NcclCommunicator() override;
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  int rank() const override { return host_->rank(); }
  int size() const override { return host_->size(); }
  PendingPtr start(Collective collective, void* data, DType type,
                   const std::vector<Interval>& slices) override;
  void run(Collective collective, float* data, const std::vector<Interval>& slices) override {
    wait(start(collective, data, DType::f32, slices));
  }
  bool queues_collectives() const override { return true; }
  void sum_on_host(double* data, std::size_t n) override { host_->sum_on_host(data, n); }
  void all_to_all(const void* from, const std::vector<std::size_t>& sent, void* to,
                  const std::vector<std::size_t>& received) override;

  /// Throws `Error` (exit code 4) when NCCL reports that something has failed.
  void progress();
  /// The first operation that has not ended, for messages; "" where all have.
  std::string unfinished() const;

 private:
  class Operation;
  class Running;

  /// Calls on the group's stream.
  using Step = std::function<void(ncclComm_t, cudaStream_t)>;
  /// Starts steps that are one operation; `memory` is kept until it has ended.
  PendingPtr enqueue(std::string what, std::vector<Step> steps, Buffer memory = {});
  /// Starts a sum of bf16 values, of which each member forms a part.
  PendingPtr start_narrow_sum(Collective collective, std::string what, BFloat16* data,
                              const std::vector<Interval>& slices);
  /// Steps that bring to `memory` what the members hold of this one's slice, and then sum that in
  /// the slice.
  std::vector<Step> sum_steps(BFloat16* data, const std::vector<Interval>& slices,
                              const Buffer& memory) const;
  Buffer room_for_sum(const std::vector<Interval>& slices);
  Step scatter_step(float* data, const std::vector<Interval>& slices) const;
  Step gather_step(void* data, DType type, const std::vector<Interval>& slices) const;
  void wait(const PendingPtr& pending);
  void join_members();
  bool has_settled();
  void wait_for_all();

  CudaDevice& device_;
  std::list<NcclCommunicator*>& of_device_;
  std::unique_ptr<MpiCommunicator> host_;
  std::string name_;
  Waiter& waiter_;
  Arena memory_;
  ncclComm_t comm_ = nullptr;
  cudaStream_t stream_ = nullptr;
  std::deque<std::shared_ptr<Operation>> waiting_;   ///< not yet called
  std::deque<std::shared_ptr<Operation>> launched_;  ///< called; the last one's call may still go
                                                     ///< on
};

}  // namespace pptrain
