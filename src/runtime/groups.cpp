#include "runtime/groups.hpp"

#include <fmt/format.h>

#include <numeric>

namespace pptrain {
namespace {

std::unique_ptr<Communicator> make_group(MPI_Comm world, const std::vector<int>& ranks, int tag,
                                         const std::string& name, Arena& arena, Waiter& waiter) {
  if (ranks.size() <= 1) return std::make_unique<SilentCommunicator>();
  return std::make_unique<MpiCommunicator>(world, ranks, tag, name, arena, waiter);
}

}  // namespace

RankGroups::RankGroups(MPI_Comm world, const Plan& plan, const RankMap& map, Arena& arena, Waiter& waiter,
                       CommunicationDecorator* decorator)
    : transport_(std::make_unique<MpiTransport>(world)) {
  const auto make = [&](GroupKind kind, const std::vector<int>& ranks, const std::string& name) {
    auto group = make_group(world, ranks, static_cast<int>(kind), name, arena, waiter);
    return decorator == nullptr ? std::move(group) : decorator->decorate(std::move(group), kind, ranks);
  };
  if (decorator != nullptr) transport_ = decorator->decorate(std::move(transport_));
  int my_rank = 0;
  int num_ranks = 0;
  MPI_Comm_rank(world, &my_rank);
  MPI_Comm_size(world, &num_ranks);
  std::vector<int> everyone(num_ranks);
  std::iota(everyone.begin(), everyone.end(), 0);
  // Groups that are made at once by different ranks must not share a rank or a tag; each rank is
  // in one group of each kind.
  all_ = make(GroupKind::all, everyone, "the sum over all ranks");
  tensor_ = std::make_unique<SilentCommunicator>();
  data_ = std::make_unique<SilentCommunicator>();
  gather_ = std::make_unique<SilentCommunicator>();
  const std::optional<Role> role = role_of(plan, map.device_of(RankId(my_rank)));
  if (!role) return;
  const Stage& stage = plan.stages[role->stage.index()];
  std::vector<int> members;
  for (const DeviceId device : stage.devices[role->replica]) members.push_back(map.rank_of(device).value);
  tensor_ = make(GroupKind::tensor, members,
                 fmt::format("the tensor-parallel group of stage {}, replica {}", role->stage.value, role->replica));
  std::vector<int> replicas;
  for (const auto& row : stage.devices) replicas.push_back(map.rank_of(row[role->shard]).value);
  const std::string name = fmt::format("the data-parallel group of stage {}, shard {}", role->stage.value, role->shard);
  data_ = make(GroupKind::data, replicas, name);
  if (stage.zero_stage > 0) gather_ = make(GroupKind::gather, replicas, name);
}

}  // namespace pptrain
