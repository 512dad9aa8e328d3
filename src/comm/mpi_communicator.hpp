#pragma once

#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/mpi.hpp"
#include "comm/ordered_all_reduce.hpp"
#include "comm/waiter.hpp"

namespace pptrain {

/// A group of ranks over MPI, on host buffers.
class MpiCommunicator final : public Communicator {
 public:
  /// `members` are ranks of `parent` in the order of the group. Collective over the members.
  /// `name` and the waiter serve messages of a timeout; `tag` tells groups made at once apart.
  MpiCommunicator(MPI_Comm parent, const std::vector<int>& members, int tag, std::string name,
                  Arena& arena, Waiter& waiter);

  /// Messages of more bytes travel in pieces from now on, on all members.
  void set_most_bytes(std::size_t bytes) { most_bytes_ = bytes; }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  PendingPtr start(Collective collective, void* data, DType type,
                   const std::vector<Interval>& slices) override;
  void run(Collective collective, float* data, const std::vector<Interval>& slices) override;
  void sum_on_host(double* data, std::size_t n) override;
  void all_to_all(const void* from, const std::vector<std::size_t>& sent, void* to,
                  const std::vector<std::size_t>& received) override;
  /// Starts an `all_to_all`; neither `from` nor `to` may be used until the result has ended.
  PendingPtr start_all_to_all(const void* from, const std::vector<std::size_t>& sent, void* to,
                              const std::vector<std::size_t>& received);

  /// MPI's communicator of the members, in their order; this frees it.
  MPI_Comm comm() const { return comm_.get(); }

 private:
  template <class T>
  PendingPtr start_typed(Collective collective, T* data, const std::vector<Interval>& slices);
  template <class T>
  PendingPtr start_whole(Reduction reduction, T* data, Interval slice);
  template <class T>
  PendingPtr start_half(Halves half, T* data, const std::vector<Interval>& slices);
  void wait(const PendingPtr& pending);
  int next_tag();
  Channel next_channel() { return {comm_.get(), next_tag(), most_bytes_}; }

  MpiComm comm_;
  std::string name_;
  Arena& arena_;
  Waiter& waiter_;
  std::size_t most_bytes_ = most_message_bytes;
  int rank_ = 0;
  int size_ = 1;
  int sequence_ = 0;
};

/// Messages between all ranks of a communicator, which it duplicates: construction is Collective.
class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(MPI_Comm parent, std::size_t most_bytes = most_message_bytes);
  PendingPtr send(RankId to, int tag, const void* data, std::size_t bytes) override;
  PendingPtr receive(RankId from, int tag, void* data, std::size_t bytes) override;
  int num_tags() const override { return num_tags_; }

 private:
  MpiComm comm_;
  std::size_t most_bytes_;
  int num_tags_ = 32767;  ///< what every MPI has
};

}  // namespace pptrain
