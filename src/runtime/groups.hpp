#pragma once

#include <memory>

#include "comm/mpi_communicator.hpp"
#include "runtime/role.hpp"

namespace pptrain {

/// What a group of ranks is for.
enum class GroupKind { all, tensor, data, gather };

/// Wraps what a rank communicates by.
class CommunicationDecorator {
 public:
  virtual ~CommunicationDecorator() = default;
  /// `ranks`: members of the group in its order.
  virtual std::unique_ptr<Communicator> decorate(std::unique_ptr<Communicator> group, GroupKind kind,
                                                 const std::vector<int>& ranks) = 0;
  /// Messages between stages. Collective over all ranks.
  virtual std::unique_ptr<Transport> decorate(std::unique_ptr<Transport> transport) = 0;
  /// An iteration of training begins.
  virtual void start_iteration() = 0;
};

/// The communicators of one rank, derived from the plan's stages: its tensor-parallel group (the
/// members of its replica), its data-parallel group (the replicas that hold the same shard), all
/// ranks, and messages between pipeline stages.
///
/// Construction is Collective over `world`.
class RankGroups {
 public:
  RankGroups(MPI_Comm world, const Plan& plan, const RankMap& map, Arena& arena, Waiter& waiter,
             CommunicationDecorator* decorator = nullptr);

  Communicator& tensor() { return *tensor_; }
  Communicator& data() { return *data_; }
  /// The data-parallel group again, for gathering weights while gradients are summed: collectives of one group
  /// start in one order on all members, those of two need not.
  Communicator& gather() { return *gather_; }
  Communicator& all() { return *all_; }
  Transport& transport() { return *transport_; }

 private:
  std::unique_ptr<Communicator> tensor_;
  std::unique_ptr<Communicator> data_;
  std::unique_ptr<Communicator> gather_;
  std::unique_ptr<Communicator> all_;
  std::unique_ptr<Transport> transport_;
};

}  // namespace pptrain
