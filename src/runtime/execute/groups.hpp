#pragma once

#include <memory>
#include <vector>

#include "comm/mpi_communicator.hpp"
#include "runtime/role.hpp"

namespace pptrain {

/// What a group of ranks is for.
enum class GroupKind { all, tensor, data, gather, slices };

/// Wraps what a rank communicates by.
class CommunicationDecorator {
 public:
  virtual ~CommunicationDecorator() = default;
  /// `ranks`: members of the group in its order. `tag`: above 0, another one for each group of a rank.
  virtual std::unique_ptr<Communicator> decorate(std::unique_ptr<Communicator> group, GroupKind kind,
                                                 const std::vector<int>& ranks, int tag) = 0;
  /// Messages between stages, or between the parts of a stage. Collective over all ranks.
  virtual std::unique_ptr<Transport> decorate(std::unique_ptr<Transport> transport) = 0;
  /// An iteration of training begins.
  virtual void start_iteration() = 0;
};

/// The k-th of n equal parts.
struct Fraction {
  int k = 0;
  int n = 1;
};

/// A part of every divided unit that one replica of each ZeRO group owns.
struct SliceOwners {
  Fraction begin;
  Fraction end;
  std::vector<int> replicas;  ///< in the order of the groups
};

/// The parts of a stage's units between which no slice of any group begins or ends; nothing where all replicas are one
/// group. Groups of different size divide differently: their divisions are intersected, as all others are.
std::vector<SliceOwners> common_slices(const Stage& stage);

/// What makes the groups of one rank.
struct GroupMaker {
  MPI_Comm world;
  const RankMap& map;
  Arena& arena;
  Waiter& waiter;
  CommunicationDecorator* decorator = nullptr;
  int next_tag = 0;  ///< groups that are made at once by different ranks must not share a rank or a tag

  /// Collective over the ranks.
  std::unique_ptr<Communicator> make(GroupKind kind, const std::vector<int>& ranks, int tag, const std::string& name);
};

/// The groups of one rank for a part of its stage, derived from the part's mesh: its tensor-parallel group (the
/// members of its replica), its data-parallel group (the replicas that hold the same shard, of one ZeRO group), the
/// owners of its slices in other ZeRO groups.
class PartGroups {
 public:
  /// Collective over the devices of the stage.
  PartGroups(GroupMaker& maker, const PartRole& role);

  Communicator& tensor() { return *tensor_; }
  Communicator& data() { return *data_; }
  /// The data-parallel group again, for gathering weights while gradients are summed: collectives of one group
  /// start in one order on all members, those of two need not.
  Communicator& gather() { return *gather_; }
  /// Parts of this rank's slice with those that own them too, in order.
  struct SharedSlice {
    Fraction begin;
    Fraction end;
    std::unique_ptr<Communicator> owners;
  };
  const std::vector<SharedSlice>& shared_slices() const { return shared_slices_; }

 private:
  void share_slices(GroupMaker& maker, const PartRole& role);

  std::unique_ptr<Communicator> tensor_;
  std::unique_ptr<Communicator> data_;
  std::unique_ptr<Communicator> gather_;
  std::vector<SharedSlice> shared_slices_;
};

/// The communicators of one rank, derived from the plan's stages: the groups of each part of its stage, all ranks,
/// messages between pipeline stages, and those between the parts of a stage.
///
/// Construction is Collective over `world`.
class RankGroups {
 public:
  RankGroups(MPI_Comm world, const Plan& plan, const RankMap& map, Arena& arena, Waiter& waiter,
             CommunicationDecorator* decorator = nullptr);

  /// In the order of the layers; nothing on a rank that the plan leaves out.
  const std::vector<std::unique_ptr<PartGroups>>& parts() const { return parts_; }
  Communicator& all() { return *all_; }
  Transport& transport() { return *transport_; }
  Transport& between_parts() { return *between_parts_; }

 private:
  std::vector<std::unique_ptr<PartGroups>> parts_;
  std::unique_ptr<Communicator> all_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Transport> between_parts_;
};

}  // namespace pptrain
