#include "runtime/execute/groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace pptrain {
namespace {

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

std::unique_ptr<Communicator> GroupMaker::make(GroupKind kind, const std::vector<int>& ranks, int tag,
                                               const std::string& name) {
  if (ranks.size() <= 1) return std::make_unique<SilentCommunicator>();
  auto group = std::make_unique<MpiCommunicator>(world, ranks, tag, name, arena, waiter);
  return decorator == nullptr ? std::move(group) : decorator->decorate(std::move(group), kind, ranks, tag);
}

PartGroups::PartGroups(GroupMaker& maker, const PartRole& role) {
  const Stage& mesh = role.mesh;
  const auto replica = static_cast<std::size_t>(role.replica);
  const auto shard = static_cast<std::size_t>(role.shard);
  const int first_tag = maker.next_tag;
  maker.next_tag += 3;
  std::vector<int> members;
  for (const DeviceId device : mesh.devices[replica]) members.push_back(maker.map.rank_of(device).value);
  tensor_ = maker.make(GroupKind::tensor, members, first_tag,
                       fmt::format("the tensor-parallel group of stage {}, replica {}", role.stage.value, replica));
  std::vector<int> replicas;
  const Interval group = mesh.sharding_group_of(role.replica);
  for (std::int64_t r = group.begin; r < group.end; ++r) {
    replicas.push_back(maker.map.rank_of(mesh.devices[static_cast<std::size_t>(r)][shard]).value);
  }
  const std::string name = fmt::format("the data-parallel group of stage {}, shard {}", role.stage.value, shard);
  data_ = maker.make(GroupKind::data, replicas, first_tag + 1, name);
  gather_ = std::make_unique<SilentCommunicator>();
  if (mesh.zero_stage > 0) gather_ = maker.make(GroupKind::gather, replicas, first_tag + 2, name);
  share_slices(maker, role);
}

/// In the order of the slices, which is the same on all ranks, so that nobody waits for ever.
void PartGroups::share_slices(GroupMaker& maker, const PartRole& role) {
  for (const SliceOwners& slice : common_slices(role.mesh)) {
    const int tag = maker.next_tag++;
    if (std::find(slice.replicas.begin(), slice.replicas.end(), role.replica) == slice.replicas.end()) continue;
    std::vector<int> ranks;
    for (const int r : slice.replicas) {
      ranks.push_back(maker.map.rank_of(role.mesh.devices[r][static_cast<std::size_t>(role.shard)]).value);
    }
    const std::string name =
        fmt::format("the replicas that own a slice of stage {}, shard {}", role.stage.value, role.shard);
    shared_slices_.push_back({slice.begin, slice.end, maker.make(GroupKind::slices, ranks, tag, name)});
  }
}

RankGroups::RankGroups(MPI_Comm world, const Plan& plan, const RankMap& map, Arena& arena, Waiter& waiter,
                       CommunicationDecorator* decorator)
    : transport_(std::make_unique<MpiTransport>(world)), between_parts_(std::make_unique<MpiTransport>(world)) {
  if (decorator != nullptr) {
    transport_ = decorator->decorate(std::move(transport_));
    between_parts_ = decorator->decorate(std::move(between_parts_));
  }
  std::vector<int> everyone(static_cast<std::size_t>(size_of(world)));
  std::iota(everyone.begin(), everyone.end(), 0);
  GroupMaker maker = {world, map, arena, waiter, decorator, 0};
  all_ = maker.make(GroupKind::all, everyone, maker.next_tag++, "the sum over all ranks");
  const std::optional<Role> role = role_of(plan, map.device_of(RankId(rank_in(world))));
  if (!role) return;
  // All devices of a stage have the same parts; each rank is in one group of each kind for each of them.
  for (const PartRole& part : part_roles(plan, *role)) parts_.push_back(std::make_unique<PartGroups>(maker, part));
}

}  // namespace pptrain
