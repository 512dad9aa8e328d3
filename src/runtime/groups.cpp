#include "runtime/groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace pptrain {
namespace {

std::unique_ptr<Communicator> make_group(MPI_Comm world, const std::vector<int>& ranks, int tag,
                                         const std::string& name, Arena& arena, Waiter& waiter) {
  if (ranks.size() <= 1) return std::make_unique<SilentCommunicator>();
  return std::make_unique<MpiCommunicator>(world, ranks, tag, name, arena, waiter);
}

/// a < b.
bool before(const Fraction& a, const Fraction& b) {
  return static_cast<std::int64_t>(a.k) * b.n < static_cast<std::int64_t>(b.k) * a.n;
}

/// Which of `members` owns what begins there.
int owner_of(const Fraction& begin, std::int64_t members) {
  return static_cast<int>(static_cast<std::int64_t>(begin.k) * members / begin.n);
}

}  // namespace

std::vector<SliceOwners> common_slices(const Stage& stage) {
  const std::vector<Interval> groups = stage.sharding_groups();
  if (groups.size() == 1) return {};
  std::vector<Fraction> ends;
  for (const Interval& group : groups) {
    for (int k = 0; k <= group.size(); ++k) ends.push_back({k, static_cast<int>(group.size())});
  }
  std::sort(ends.begin(), ends.end(), before);
  const auto equal = [](const Fraction& a, const Fraction& b) { return !before(a, b) && !before(b, a); };
  ends.erase(std::unique(ends.begin(), ends.end(), equal), ends.end());
  std::vector<SliceOwners> slices;
  for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
    SliceOwners& slice = slices.emplace_back(SliceOwners{ends[i], ends[i + 1], {}});
    for (const Interval& group : groups) {
      slice.replicas.push_back(static_cast<int>(group.begin) + owner_of(slice.begin, group.size()));
    }
  }
  return slices;
}

RankGroups::RankGroups(MPI_Comm world, const Plan& plan, const RankMap& map, Arena& arena, Waiter& waiter,
                       CommunicationDecorator* decorator)
    : transport_(std::make_unique<MpiTransport>(world)) {
  const auto make = [&](GroupKind kind, const std::vector<int>& ranks, const std::string& name, int number = 0) {
    auto group = make_group(world, ranks, static_cast<int>(kind) + number, name, arena, waiter);
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
  // in one group of each kind, but of `slices`, whose tags are the last.
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
  const Interval group = stage.sharding_group_of(role->replica);
  for (std::int64_t r = group.begin; r < group.end; ++r) {
    replicas.push_back(map.rank_of(stage.devices[r][role->shard]).value);
  }
  const std::string name = fmt::format("the data-parallel group of stage {}, shard {}", role->stage.value, role->shard);
  data_ = make(GroupKind::data, replicas, name);
  if (stage.zero_stage > 0) gather_ = make(GroupKind::gather, replicas, name);
  // In the order of the slices, which is the same on all ranks, so that nobody waits for ever.
  int number = 0;
  for (const SliceOwners& slice : common_slices(stage)) {
    const int mine = number++;
    if (std::find(slice.replicas.begin(), slice.replicas.end(), role->replica) == slice.replicas.end()) continue;
    std::vector<int> owners;
    for (const int r : slice.replicas) owners.push_back(map.rank_of(stage.devices[r][role->shard]).value);
    shared_slices_.push_back(
        {slice.begin, slice.end, make(GroupKind::slices, owners, "the owners of a slice in " + name, mine)});
  }
}

}  // namespace pptrain
