#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/device_memory.hpp"
#include "comm/direct_groups.hpp"
#include "comm/mpi_communicator.hpp"
#include "comm/staging.hpp"
#include "runtime/execute/sum_groups.hpp"
#include "runtime/places/role.hpp"

namespace pptrain {

/// What a group of ranks is for.
enum class GroupKind { all, tensor, data, gather, slices, statistics };

/// Wraps what a rank communicates by.
class CommunicationDecorator {
 public:
  virtual ~CommunicationDecorator() = default;
  /// `ranks`: members of the group in its order. `tag`: above 0, another one for each group of a
  /// rank. `share`: of slices, how much of their nodes' sums the group has; those of all slices are
  /// under way at once.
  virtual std::unique_ptr<Communicator> decorate(std::unique_ptr<Communicator> group,
                                                 GroupKind kind, const std::vector<int>& ranks,
                                                 int tag, double share) = 0;
  /// Messages between stages, or between the parts of a stage. Collective over all ranks.
  virtual std::unique_ptr<Transport> decorate(std::unique_ptr<Transport> transport) = 0;
  /// An iteration of training begins.
  virtual void start_iteration() = 0;
};

/// What each rank has to communicate by.
struct RankReach {
  std::string by;      ///< what reaches its device's memory without MPI; "": nothing
  std::string device;  ///< the identity of the device, where something does
};

/// The reach of every rank, told to all. Collective.
std::vector<RankReach> gather_reach(MPI_Comm world, Waiter& waiter, const DirectGroups* direct);

/// Why these ranks have to communicate by MPI; "" where they need not.
std::string why_by_mpi(const std::vector<RankReach>& reach, const std::vector<int>& ranks);

/// By what a rank reaches the memory of other devices than the host.
struct Reach {
  DirectGroups* direct = nullptr;           ///< outlives the groups; null: nothing but MPI
  GpuTransport wanted = GpuTransport::any;  ///< [job] gpu_transport
  std::string where = {};                   ///< it was wanted
  std::optional<MpiDeviceMemory> mpi;       ///< nothing: what MPI says of itself
};

/// Whether slices of a tied embedding's gradients come to the rank's stage, which all its replicas
/// then gather.
enum class TiedGathers { none, some };

/// Whether layers sum over the replicas of their stage, as batch norms do.
enum class BatchSums { none, some };

/// What groups are to do beside what a plan says of them.
struct GroupOptions {
  CommunicationDecorator* decorator = nullptr;  ///< outlives the groups; null: none
  std::vector<int> nodes = {};                  ///< of each device; empty: all are on one
  Reach own = {};                               ///< of this rank
  TiedGathers tied = TiedGathers::none;
  BatchSums batch_sums = BatchSums::none;
};

/// What makes the groups of one rank.
struct GroupMaker {
  MPI_Comm world;
  const RankMap& map;
  Arena& arena;
  Waiter& waiter;
  Staging* staging;  ///< null where MPI reaches the device's memory
  const GroupOptions& options;
  const std::vector<RankReach>& reach;
  std::vector<std::string>& ways;  ///< how the groups of devices that MPI does not reach
                                   ///< communicate
  int next_tag = 0;  ///< groups that are made at once by different ranks must not share a rank or a
                     ///< tag

  /// Collective over the ranks.
  std::unique_ptr<Communicator> make(GroupKind kind, const std::vector<int>& ranks, int tag,
                                     const std::string& name, double share = 1.0);

 private:
  std::unique_ptr<Communicator> make_plain(const std::vector<int>& ranks, int tag,
                                           const std::string& name);
};

/// The groups of one rank for a part of its stage, derived from the part's mesh: its
/// tensor-parallel group (the members of its replica), its data-parallel group (the replicas that
/// hold the same shard, of one group of `sum_groups`), the owners of its slices in other groups.
class PartGroups {
 public:
  /// Collective over the devices of the stage.
  PartGroups(GroupMaker& maker, const PartRole& role);

  /// Tensor-parallel group: the members of this rank's replica, numbered by shard.
  Communicator& tensor() { return *tensor_; }
  /// Data-parallel group: replicas that hold the same shard, those of this rank's group of
  /// `sum_groups`.
  Communicator& data() { return *data_; }
  /// The data-parallel group again, for gathering weights, or gradients that are summed, while
  /// others are summed: collectives of one group start in one order on all members, those of two
  /// need not.
  Communicator& gather() { return *gather_; }
  /// All replicas that hold the same shard, in order, where they gather slices of a tied
  /// embedding's gradients.
  Communicator& replicas() { return replicas_ ? *replicas_ : *data_; }
  /// All replicas that hold the same shard, in order, for the sums of their layers; null where no
  /// layer sums so.
  Communicator* statistics() { return statistics_.get(); }
  /// Parts of this rank's slice with those that own them too, in order.
  struct SharedSlice {
    Fraction begin;
    Fraction end;
    std::unique_ptr<Communicator> owners;
  };
  /// Shared parts in the order of the array; empty where one group of `sum_groups` has all
  /// replicas.
  const std::vector<SharedSlice>& shared_slices() const { return shared_slices_; }

 private:
  void share_slices(GroupMaker& maker, const PartRole& role, const SumGroups& groups);

  std::unique_ptr<Communicator> tensor_;
  std::unique_ptr<Communicator> data_;
  std::unique_ptr<Communicator> gather_;
  std::unique_ptr<Communicator> replicas_;  ///< null where the data-parallel group has all, or none
                                            ///< is needed
  std::unique_ptr<Communicator> statistics_;
  std::vector<SharedSlice> shared_slices_;
};

/// The communicators of one rank, derived from the plan's stages: the groups of each part of its
/// stage, all ranks, messages between pipeline stages, and those between the parts of a stage.
///
/// Construction is Collective over `world`.
class RankGroups {
 public:
  /// `nodes`: as `sum_groups` has them. Throws exit code 2 on all ranks where NCCL is wanted and
  /// cannot be.
  RankGroups(MPI_Comm world, const Plan& plan, const RankMap& map, Arena& arena, Waiter& waiter,
             const GroupOptions& options = {});
  RankGroups(const RankGroups&) = delete;
  RankGroups& operator=(const RankGroups&) = delete;

  /// The groups of each part of the stage, in the order of the layers; none on a rank that the plan
  /// leaves out.
  const std::vector<std::unique_ptr<PartGroups>>& parts() const { return parts_; }
  /// All ranks, also those that the plan leaves out; for sums of values of the host (doubles).
  Communicator& all() { return *all_; }
  /// Messages between pipeline stages.
  Transport& transport() { return *transport_; }
  /// Messages between the devices of one stage, whose parts may be divided differently.
  Transport& between_parts() { return *between_parts_; }

  /// How the groups communicate, a line each; none where the device is the host.
  const std::vector<std::string>& ways() const { return ways_; }
  /// What goes on beside the host and has not ended, for messages; may be "".
  std::string unfinished() const { return direct_ == nullptr ? "" : direct_->unfinished(); }

 private:
  std::unique_ptr<Transport> make_transport(MPI_Comm world, CommunicationDecorator* decorator,
                                            MessagePath path);

  void move_on();

  /// What the waiter moves on goes last: groups that end still wait, and others' transfers with
  /// them.
  class Movement {
   public:
    explicit Movement(Waiter& waiter) : waiter_(waiter) {}
    ~Movement() { waiter_.move_beside({}); }
    Movement(const Movement&) = delete;
    Movement& operator=(const Movement&) = delete;

   private:
    Waiter& waiter_;
  };

  Movement movement_;
  DirectGroups* direct_;
  std::vector<std::string> ways_;
  std::unique_ptr<Staging> staging_;  ///< null where the device is the host
  std::vector<std::unique_ptr<PartGroups>> parts_;
  std::unique_ptr<Communicator> all_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Transport> between_parts_;
};

}  // namespace pptrain
