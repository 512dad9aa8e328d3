#pragma once

#include <cstddef>
#include <vector>

#include "base/bfloat16.hpp"
#include "base/ids.hpp"
#include "base/interval.hpp"
#include "comm/pending.hpp"

namespace pptrain {

/// Collectives of one group of ranks. Members are numbered in the order the plan lists them, and
/// every sum is formed in that order, never in order of arrival: two runs give equal bits. (What a
/// communicator that promises less does promise, it says.)
///
/// Floats lie in the memory of the rank's device, in whose order transfers begin and end: they see
/// what the device was told before, and it sees them in what it is told after. Doubles are values
/// of the host.
///
/// Every function is Collective over the group.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;  ///< of this process in the group
  /// Members of the group.
  virtual int size() const = 0;

  /// data[i] becomes the sum over the members, n elements.
  virtual void all_reduce_sum(float* data, std::size_t n) = 0;
  /// data[i] becomes the sum over the members, n values in memory of the host.
  virtual void all_reduce_sum(double* data, std::size_t n) = 0;
  /// data[i] becomes the largest value of any member, n elements.
  virtual void all_reduce_max(float* data, std::size_t n) = 0;
  /// Every member's slice data[slices[k]] is sent to all.
  virtual void all_gather(float* data, const std::vector<Interval>& slices) = 0;

  /// Member k gets sent[k] bytes of `from`, where what goes to the members lies one behind the
  /// other in their order, and received[k] bytes come from it, which lie in `to` in the same way.
  /// Memory of the device.
  virtual void all_to_all(const void* from, const std::vector<std::size_t>& sent, void* to,
                          const std::vector<std::size_t>& received);

  /// The same, only started; `data` must stay until the result has ended.
  virtual PendingPtr start_all_reduce_sum(float* data, std::size_t n) = 0;
  /// The two halves of it: in the slice data[slices[rank()]] the sum over the members, the rest
  /// stays ...
  virtual PendingPtr start_reduce_scatter_sum(float* data, const std::vector<Interval>& slices) = 0;
  /// ... and every member's slice sent to all.
  virtual PendingPtr start_all_gather(float* data, const std::vector<Interval>& slices) = 0;

  /// The same of values that travel in bf16, half the bytes: what members hold is summed in fp32
  /// and rounded once.
  virtual PendingPtr start_all_reduce_sum(BFloat16* data, std::size_t n) = 0;
  /// Starts to sum each slice over the members: data[slices[k]] becomes the sum on member k, and
  /// stays on others.
  virtual PendingPtr start_reduce_scatter_sum(BFloat16* data,
                                              const std::vector<Interval>& slices) = 0;
  /// Starts to send every member's slice data[slices[k]] to all.
  virtual PendingPtr start_all_gather(BFloat16* data, const std::vector<Interval>& slices) = 0;
};

/// Point-to-point messages between the ranks of the job, of memory of the rank's device. Neither
/// call blocks; the memory must stay until the result has ended. Messages of one pair with one tag
/// keep their order.
class Transport {
 public:
  virtual ~Transport() = default;
  /// Starts to send so many bytes to a rank, which has to `receive` as many with this tag.
  virtual PendingPtr send(RankId to, int tag, const void* data, std::size_t bytes) = 0;
  /// Starts to receive so many bytes, which a rank has to `send` with this tag.
  virtual PendingPtr receive(RankId from, int tag, void* data, std::size_t bytes) = 0;
  /// Tags are 0 to this - 1.
  virtual int num_tags() const = 0;
};

/// One member of a group that exists only on paper: sums leave the data as it is. With it a
/// tensor-parallel shard can be timed, or the plain layer run, without any peer.
class SilentCommunicator final : public Communicator {
 public:
  explicit SilentCommunicator(int size = 1) : size_(size) {}
  int rank() const override { return 0; }
  int size() const override { return size_; }
  void all_reduce_sum(float*, std::size_t) override {}
  void all_reduce_sum(double*, std::size_t) override {}
  void all_reduce_max(float*, std::size_t) override {}
  void all_gather(float*, const std::vector<Interval>&) override {}
  void all_to_all(const void* from, const std::vector<std::size_t>& sent, void* to,
                  const std::vector<std::size_t>& received) override;
  PendingPtr start_all_reduce_sum(float*, std::size_t) override;
  PendingPtr start_reduce_scatter_sum(float*, const std::vector<Interval>&) override;
  PendingPtr start_all_gather(float*, const std::vector<Interval>&) override;
  PendingPtr start_all_reduce_sum(BFloat16*, std::size_t) override;
  PendingPtr start_reduce_scatter_sum(BFloat16*, const std::vector<Interval>&) override;
  PendingPtr start_all_gather(BFloat16*, const std::vector<Interval>&) override;

 private:
  int size_;
};

}  // namespace pptrain
