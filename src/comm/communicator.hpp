#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.hpp"
#include "base/interval.hpp"
#include "comm/pending.hpp"
#include "tensor/tensor.hpp"

namespace pptrain {

/// What the members of a group do together with an array that each of them has, by slices of it:
/// one slice is the whole where all get the result, else there is a slice for each member.
enum class Collective {
  all_reduce_sum,      ///< every member gets the sum of the members' values
  all_reduce_max,      ///< every member gets the largest of the members' values
  reduce_scatter_sum,  ///< member k gets the sum in slice k, and keeps what it has elsewhere
  all_gather           ///< every member gets slice k of member k
};

/// Collectives of one group of ranks. Members are numbered in the order the plan lists them, and
/// every sum is formed in that order, never in order of arrival: two runs give equal bits. (What a
/// communicator that promises less does promise, it says.)
///
/// Values lie in the memory of the rank's device, in whose order transfers begin and end: they see
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

  /// Starts a collective of values of `type`, f32 or bf16 (a maximum: f32); `data` must stay until
  /// the result has ended. Values of bf16 are summed in fp32 and rounded once.
  virtual PendingPtr start(Collective collective, void* data, DType type,
                           const std::vector<Interval>& slices) = 0;
  /// Runs a collective of f32 values to its end.
  virtual void run(Collective collective, float* data, const std::vector<Interval>& slices) = 0;
  /// Whether the device orders collectives of f32 values behind each other by itself, without
  /// memory beside their data: any number of them may be under way then.
  virtual bool queues_collectives() const { return false; }
  /// data[i] becomes the sum over the members, n values in memory of the host.
  virtual void sum_on_host(double* data, std::size_t n) = 0;
  /// Member k gets sent[k] bytes of `from`, where what goes to the members lies one behind the
  /// other in their order, and received[k] bytes come from it, which lie in `to` in the same way.
  /// Memory of the device.
  virtual void all_to_all(const void* from, const std::vector<std::size_t>& sent, void* to,
                          const std::vector<std::size_t>& received);

  /// data[i] becomes the sum over the members, n elements.
  void all_reduce_sum(float* data, std::size_t n) {
    run(Collective::all_reduce_sum, data, whole(n));
  }
  /// data[i] becomes the sum over the members, n values in memory of the host.
  void all_reduce_sum(double* data, std::size_t n) { sum_on_host(data, n); }
  /// data[i] becomes the largest value of any member, n elements.
  void all_reduce_max(float* data, std::size_t n) {
    run(Collective::all_reduce_max, data, whole(n));
  }
  /// Every member's slice data[slices[k]] is sent to all.
  void all_gather(float* data, const std::vector<Interval>& slices) {
    run(Collective::all_gather, data, slices);
  }

  /// Starts to sum n values of float or BFloat16 over the members.
  template <class T>
  PendingPtr start_all_reduce_sum(T* data, std::size_t n) {
    return start(Collective::all_reduce_sum, data, dtype_of<T>(), whole(n));
  }
  /// Starts to sum each slice over the members: data[slices[k]] becomes the sum on member k.
  template <class T>
  PendingPtr start_reduce_scatter_sum(T* data, const std::vector<Interval>& slices) {
    return start(Collective::reduce_scatter_sum, data, dtype_of<T>(), slices);
  }
  /// Starts to send every member's slice data[slices[k]] to all.
  template <class T>
  PendingPtr start_all_gather(T* data, const std::vector<Interval>& slices) {
    return start(Collective::all_gather, data, dtype_of<T>(), slices);
  }

 private:
  static std::vector<Interval> whole(std::size_t n) { return {{0, static_cast<std::int64_t>(n)}}; }
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
  PendingPtr start(Collective, void*, DType, const std::vector<Interval>&) override;
  void run(Collective, float*, const std::vector<Interval>&) override {}
  void sum_on_host(double*, std::size_t) override {}
  void all_to_all(const void* from, const std::vector<std::size_t>& sent, void* to,
                  const std::vector<std::size_t>& received) override;

 private:
  int size_;
};

}  // namespace pptrain
