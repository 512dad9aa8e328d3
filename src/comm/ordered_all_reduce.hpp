#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "base/bfloat16.hpp"
#include "base/interval.hpp"
#include "comm/mpi_messages.hpp"
#include "comm/pending.hpp"
#include "tensor/arena.hpp"

namespace pptrain {

enum class Reduction { sum, max };

/// The halves of an all-reduce that are run: each member reduces its slice, then sends it to all.
enum class Halves { both, reduce_scatter, all_gather };

/// What the messages of one collective go over: the next tag is its own too.
struct Channel {
  MPI_Comm comm;
  int tag;
  std::size_t most_bytes;  ///< longer messages travel in pieces
};

/// All-reduce whose result does not depend on the order of arrival: member k owns slice k, adds
/// what all members hold of it in member order, and sends the result to all. Each member sends
/// 2 (n-1)/n of the data, the least possible (AMP Eq. 3). Short vectors are exchanged whole, in one
/// step, and every member adds them up.
///
/// T is float, double or BFloat16, which is summed in fp32 and rounded once. Made by
/// `MpiCommunicator`, which gives each one tags of its own.
template <class T>
class OrderedAllReduce final : public Pending {
 public:
  OrderedAllReduce(const Channel& channel, Arena& arena, Reduction reduction, T* data,
                   std::size_t n);
  /// Member k's slice of the data is slices[k]. After a reduce-scatter the rest of the data is what
  /// it was.
  OrderedAllReduce(const Channel& channel, Arena& arena, Halves halves, T* data,
                   std::vector<Interval> slices);

  bool test() override;
  std::string missing() const override;

 private:
  enum class Phase { gather, share, ended };

  T* contribution(int member) const;
  std::size_t bytes_of(int member) const;  ///< of its slice
  void start_gather(Arena& arena);
  void reduce();
  void start_share();

  MPI_Comm comm_;
  Reduction reduction_;
  T* data_;
  int tag_;
  int rank_ = 0;
  int size_ = 1;
  bool shares_ = true;            ///< the second half follows
  std::vector<Interval> slices_;  ///< what each member reduces
  std::size_t slot_ = 0;          ///< elements of one contribution in the buffer
  Buffer buffer_;                 ///< contributions of all members to this member's slice
  Phase phase_ = Phase::gather;
  MpiMessages messages_;
};

}  // namespace pptrain
