#pragma once

#include <mpi.h>

#include <utility>
#include <vector>

namespace pptrain {

/// Starts and ends MPI.
class MpiEnvironment {
 public:
  MpiEnvironment(int* argc, char*** argv);
  ~MpiEnvironment();
  MpiEnvironment(const MpiEnvironment&) = delete;
  MpiEnvironment& operator=(const MpiEnvironment&) = delete;
};

/// Rank of this process in a communicator, and the number of its ranks.
int rank_in(MPI_Comm comm);
int size_of(MPI_Comm comm);

/// An MPI communicator that frees itself. Creating and destroying one is Collective over it.
class MpiComm {
 public:
  MpiComm() = default;
  ~MpiComm() { reset(); }
  MpiComm(MpiComm&& other) noexcept : comm_(other.comm_) { other.comm_ = MPI_COMM_NULL; }
  MpiComm& operator=(MpiComm&& other) noexcept {
    std::swap(comm_, other.comm_);
    return *this;
  }

  /// A communicator of the same ranks, whose messages cannot be taken for those of `parent`.
  /// Collective over `parent`.
  static MpiComm duplicate(MPI_Comm parent);
  /// The ranks `members` of `parent`, in this order. Collective over the members only.
  static MpiComm group(MPI_Comm parent, const std::vector<int>& members, int tag);
  /// The ranks of `parent` that share memory: one host, or one container of it. Collective over
  /// `parent`.
  static MpiComm shared_memory(MPI_Comm parent);

  /// MPI's handle, which this frees; MPI_COMM_NULL where there is none.
  MPI_Comm get() const { return comm_; }
  /// Rank of this process in the communicator.
  int rank() const { return rank_in(comm_); }
  /// Number of ranks of the communicator.
  int size() const { return size_of(comm_); }

 private:
  explicit MpiComm(MPI_Comm comm) : comm_(comm) {}
  void reset();
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace pptrain
