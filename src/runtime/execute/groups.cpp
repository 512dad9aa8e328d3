#include "runtime/execute/groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <sstream>

#include "base/error.hpp"
#include "comm/collective.hpp"
#include "comm/device_transport.hpp"
#include "comm/staged_communicator.hpp"

namespace pptrain {
namespace {

/// "0, 2, 4".
std::string list_of(const std::vector<int>& numbers) {
  std::string list;
  for (const int number : numbers) list += (list.empty() ? "" : ", ") + std::to_string(number);
  return list;
}

}  // namespace

std::vector<RankReach> gather_reach(MPI_Comm world, Waiter& waiter, const DirectGroups* direct) {
  // One line of each rank, in the order of the ranks.
  const std::string own =
      direct == nullptr ? "\t\n" : direct->name() + "\t" + direct->device_identity() + "\n";
  const std::vector<std::string> lines = gather(world, own, waiter);
  std::istringstream all(
      broadcast(world, std::accumulate(lines.begin(), lines.end(), std::string()), waiter));
  std::vector<RankReach> reach(static_cast<std::size_t>(size_of(world)));
  for (RankReach& of_rank : reach) {
    std::getline(all, of_rank.by, '\t');
    std::getline(all, of_rank.device);
  }
  return reach;
}

std::string why_by_mpi(const std::vector<RankReach>& reach, const std::vector<int>& ranks) {
  const RankReach& first = reach[static_cast<std::size_t>(ranks.front())];
  std::map<std::string, int> rank_of;
  for (const int rank : ranks) {
    const RankReach& own = reach[static_cast<std::size_t>(rank)];
    if (own.by.empty()) return fmt::format("rank {} has nothing else", rank);
    if (own.by != first.by)
      return fmt::format("rank {} has {}, rank {} {}", ranks.front(), first.by, rank, own.by);
    const auto [other, is_new] = rank_of.emplace(own.device, rank);
    if (!is_new)
      return fmt::format("ranks {} and {} share a device, which {} refuses", other->second, rank,
                         own.by);
  }
  return "";
}

namespace {

/// Every rank comes to the same answer.
void require_direct(const std::vector<RankReach>& reach, const std::string& where) {
  std::vector<int> everyone(reach.size());
  std::iota(everyone.begin(), everyone.end(), 0);
  const std::string why = why_by_mpi(reach, everyone);
  if (why.empty()) return;
  throw_bad_input({where, "[job] gpu_transport is \"nccl\", but not all groups can communicate so",
                   why, "start one rank per GPU, or set it to \"auto\" or \"mpi\""});
}

std::string describe_messages(const MpiDeviceMemory& mpi) {
  const char* way = mpi.path == MessagePath::direct ? "MPI, which takes the GPU's memory itself"
                                                    : "MPI by way of the host";
  return fmt::format("messages between stages: {} ({})", way, mpi.reason);
}

}  // namespace

std::unique_ptr<Communicator> GroupMaker::make_plain(const std::vector<int>& ranks, int tag,
                                                     const std::string& name) {
  if (staging == nullptr)
    return std::make_unique<MpiCommunicator>(world, ranks, tag, name, arena, waiter);
  auto host = std::make_unique<MpiCommunicator>(world, ranks, tag, name, staging->blocks(), waiter);
  const std::string why = options.own.wanted == GpuTransport::mpi ? "[job] gpu_transport says so"
                                                                  : why_by_mpi(reach, ranks);
  if (why.empty()) {
    ways.push_back(fmt::format("{}: {}", name, options.own.direct->name()));
    return options.own.direct->make(std::move(host),
                                    fmt::format("{} (ranks {})", name, list_of(ranks)), waiter);
  }
  ways.push_back(fmt::format("{}: MPI by way of the host, as {}", name, why));
  return std::make_unique<StagedCommunicator>(std::move(host), *staging, name, waiter);
}

std::unique_ptr<Communicator> GroupMaker::make(GroupKind kind, const std::vector<int>& ranks,
                                               int tag, const std::string& name, double share) {
  if (ranks.size() <= 1) return std::make_unique<SilentCommunicator>();
  std::unique_ptr<Communicator> group;
  if (kind == GroupKind::all) {  // sums of values of the host
    group = std::make_unique<MpiCommunicator>(
        world, ranks, tag, name, staging == nullptr ? arena : staging->blocks(), waiter);
  } else {
    group = make_plain(ranks, tag, name);
  }
  return options.decorator == nullptr
             ? std::move(group)
             : options.decorator->decorate(std::move(group), kind, ranks, tag, share);
}

PartGroups::PartGroups(GroupMaker& maker, const PartRole& role) {
  const Stage& mesh = role.mesh;
  const auto replica = static_cast<std::size_t>(role.replica);
  const auto shard = static_cast<std::size_t>(role.shard);
  const int first_tag = maker.next_tag;
  maker.next_tag += 5;
  std::vector<int> members;
  for (const DeviceId device : mesh.devices[replica])
    members.push_back(maker.map.rank_of(device).value);
  tensor_ = maker.make(
      GroupKind::tensor, members, first_tag,
      fmt::format("the tensor-parallel group of stage {}, replica {}", role.stage.value, replica));
  const SumGroups groups = sum_groups(mesh, role.shard, maker.options.nodes);
  const auto own = std::find_if(groups.begin(), groups.end(), [&](const std::vector<int>& group) {
    return std::find(group.begin(), group.end(), role.replica) != group.end();
  });
  const auto rank_of = [&](int r) {
    return maker.map.rank_of(mesh.devices[static_cast<std::size_t>(r)][shard]).value;
  };
  std::vector<int> replicas;
  for (const int r : *own) replicas.push_back(rank_of(r));
  const std::string name =
      fmt::format("the data-parallel group of stage {}, shard {}", role.stage.value, shard);
  data_ = maker.make(GroupKind::data, replicas, first_tag + 1, name);
  gather_ = std::make_unique<SilentCommunicator>();
  if (mesh.zero_stage > 0 || groups.size() > 1)
    gather_ = maker.make(GroupKind::gather, replicas, first_tag + 2, name);
  std::vector<int> all;
  for (int r = 0; r < mesh.replicas; ++r) all.push_back(rank_of(r));
  if (maker.options.tied == TiedGathers::some && groups.size() > 1) {
    replicas_ = maker.make(GroupKind::gather, all, first_tag + 3, name);
  }
  if (maker.options.batch_sums == BatchSums::some) {
    statistics_ =
        maker.make(GroupKind::statistics, all, first_tag + 4,
                   fmt::format("the replicas of stage {}, shard {}", role.stage.value, shard));
  }
  share_slices(maker, role, groups);
}

/// Goes in the order of the slices, the same on all ranks, so that nobody waits for ever. Shards
/// may lie on nodes differently and have other groups; all go on with the same tag.
void PartGroups::share_slices(GroupMaker& maker, const PartRole& role, const SumGroups& groups) {
  int tag = maker.next_tag;
  std::size_t most = 0;
  for (int shard = 0; shard < role.mesh.tensor_parallel; ++shard) {
    most = std::max(most, common_slices(sum_groups(role.mesh, shard, maker.options.nodes)).size());
  }
  maker.next_tag += static_cast<int>(most);
  for (const SliceOwners& slice : common_slices(groups)) {
    const int own_tag = tag++;
    if (std::find(slice.replicas.begin(), slice.replicas.end(), role.replica) ==
        slice.replicas.end())
      continue;
    std::vector<int> ranks;
    for (const int r : slice.replicas) {
      ranks.push_back(
          maker.map.rank_of(role.mesh.devices[r][static_cast<std::size_t>(role.shard)]).value);
    }
    const std::string name = fmt::format("the replicas that own a slice of stage {}, shard {}",
                                         role.stage.value, role.shard);
    const double share = slice.end.value() - slice.begin.value();
    shared_slices_.push_back(
        {slice.begin, slice.end, maker.make(GroupKind::slices, ranks, own_tag, name, share)});
  }
}

RankGroups::RankGroups(MPI_Comm world, const Plan& plan, const RankMap& map, Arena& arena,
                       Waiter& waiter, const GroupOptions& options)
    : movement_(waiter), direct_(options.own.direct) {
  const Reach& own = options.own;
  const std::vector<RankReach> reach = gather_reach(world, waiter, own.direct);
  if (own.wanted == GpuTransport::nccl) require_direct(reach, own.where);
  const MpiDeviceMemory mpi = own.mpi ? *own.mpi : mpi_device_memory();
  if (!arena.device().is_host()) {
    staging_ = std::make_unique<Staging>(arena.device());
    waiter.move_beside([this] { move_on(); });
  }
  transport_ = make_transport(world, options.decorator, mpi.path);
  between_parts_ = make_transport(world, options.decorator, mpi.path);
  if (staging_ != nullptr) ways_.push_back(describe_messages(mpi));
  std::vector<int> everyone(static_cast<std::size_t>(size_of(world)));
  std::iota(everyone.begin(), everyone.end(), 0);
  GroupMaker maker = {world, map, arena, waiter, staging_.get(), options, reach, ways_};
  all_ = maker.make(GroupKind::all, everyone, maker.next_tag++, "the sum over all ranks");
  const std::optional<Role> role = role_of(plan, map.device_of(RankId(rank_in(world))));
  if (!role) return;
  // All devices of a stage have the same parts; each rank is in one group of each kind for each of
  // them.
  for (const PartRole& part : part_roles(plan, *role))
    parts_.push_back(std::make_unique<PartGroups>(maker, part));
}

void RankGroups::move_on() {
  staging_->progress();
  if (direct_ != nullptr) direct_->progress();
}

std::unique_ptr<Transport> RankGroups::make_transport(MPI_Comm world,
                                                      CommunicationDecorator* decorator,
                                                      MessagePath path) {
  std::unique_ptr<Transport> transport = std::make_unique<MpiTransport>(world);
  if (staging_ != nullptr && path == MessagePath::direct) {
    transport = std::make_unique<DeviceTransport>(std::move(transport), *staging_);
  } else if (staging_ != nullptr) {
    transport = std::make_unique<StagedTransport>(std::move(transport), *staging_);
  }
  return decorator == nullptr ? std::move(transport) : decorator->decorate(std::move(transport));
}

}  // namespace pptrain
