#include "probe/link_probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/timing.hpp"
#include "comm/collective.hpp"
#include "comm/mpi.hpp"
#include "comm/staged_communicator.hpp"
#include "probe/core_pools.hpp"
#include "probe/links.hpp"

namespace pptrain {
namespace {

constexpr double pair_timeout_seconds = 120.0;
constexpr std::size_t small_bytes = 8;
constexpr std::size_t large_bytes = std::size_t{16} << 20;

/// The link that takes these times for a small and for a large message.
Link link_of(double small, double large) {
  return {static_cast<double>(large_bytes) / std::max(large - small, 1e-9), small};
}

/// Seconds of an all-gather of two devices in which each sends `bytes`: by the device's clock,
/// several one behind another, so that what the host takes to start them does not count where it is
/// ahead.
double gather_seconds(Communicator& group, Arena& arena, Waiter& waiter, std::size_t bytes) {
  constexpr int rounds = 4;  // the first one connects
  constexpr int repetitions = 4;
  const auto slice = static_cast<std::int64_t>(bytes / sizeof(float));
  const std::vector<Interval> slices = {{0, slice}, {slice, 2 * slice}};
  const Buffer buffer(arena, 2 * bytes);
  arena.device().fill(buffer.data(), 0, buffer.bytes());
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < rounds; ++round) {
    const DeviceMomentPtr start = arena.device().moment();
    for (int i = 0; i < repetitions; ++i) {
      const PendingPtr gather = group.start_all_gather(static_cast<float*>(buffer.data()), slices);
      waiter.wait(*gather, [] { return std::string("measuring a link"); });
    }
    best = std::min(best, arena.device().moment()->seconds_since(*start) / repetitions);
  }
  return best;
}

/// Seconds of the fastest of several copies that `start` starts.
template <class Start>
double copy_seconds(Device& device, const Start& start) {
  constexpr int repetitions = 5;
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repetitions; ++i) {
    device.synchronize();
    const double begin = wall_seconds();
    const DeviceWorkPtr copy = start();
    while (!copy->has_ended()) {
    }
    best = std::min(best, wall_seconds() - begin);
  }
  return best;
}

}  // namespace

LinkProbe::LinkProbe(MPI_Comm world, Waiter& waiter, const std::vector<RankHost>& ranks,
                     const ProbedGpu* own)
    : world_(world),
      waiter_(waiter),
      pair_waiter_(pair_timeout_seconds, pool_of(core_pools_of(ranks), rank_in(world)).core_use()),
      ranks_(ranks),
      own_(own),
      arena_(0, {}, own == nullptr ? host_device() : own->device) {
  if (std::none_of(ranks.begin(), ranks.end(),
                   [](const RankHost& rank) { return rank.gpu.has_value(); }))
    return;
  transport_ = std::make_unique<MpiTransport>(world);
  if (own == nullptr) return;
  staging_ = std::make_unique<Staging>(own->device);
  transport_ = std::make_unique<StagedTransport>(std::move(transport_), *staging_);
  pair_waiter_.move_beside([this] {
    staging_->progress();
    if (own_->direct != nullptr) own_->direct->progress();
  });
}

Link LinkProbe::measure(int first, int second) {
  const int rank = rank_in(world_);
  Link link;
  const auto measure = [&] {
    if (rank == first || rank == second) link = measure_own(first, second);
  };
  if (transport_ == nullptr) measure();
  if (transport_ != nullptr) share_error(world_, waiter_, error_of(measure));
  const std::vector<double> of_ranks =
      gather_to_all(world_, {link.bandwidth, link.latency}, waiter_);
  const auto at = 2 * static_cast<std::size_t>(first);
  return {of_ranks[at], of_ranks[at + 1]};
}

Link LinkProbe::measure_own(int first, int second) {
  const int rank = rank_in(world_);
  const bool any_gpu =
      ranks_[static_cast<std::size_t>(first)].gpu || ranks_[static_cast<std::size_t>(second)].gpu;
  if (!any_gpu) return measure_link(world_, rank, first, second);
  if (go_directly(first, second)) return measure_directly(first, second);
  return measure_staged(rank == first ? second : first, rank == first);
}

bool LinkProbe::go_directly(int first, int second) const {
  const RankHost& one = ranks_[static_cast<std::size_t>(first)];
  const RankHost& other = ranks_[static_cast<std::size_t>(second)];
  return !one.direct.empty() && one.direct == other.direct && !one.shares_gpu(other);
}

Link LinkProbe::measure_directly(int first, int second) {
  const std::string name = fmt::format("the link of ranks {} and {}", first, second);
  auto host = std::make_unique<MpiCommunicator>(world_, std::vector<int>{first, second}, 0, name,
                                                staging_->blocks(), pair_waiter_);
  const std::unique_ptr<Communicator> group =
      own_->direct->make(std::move(host), name, pair_waiter_);
  const double small = gather_seconds(*group, arena_, pair_waiter_, small_bytes);
  return link_of(small, gather_seconds(*group, arena_, pair_waiter_, large_bytes));
}

Link LinkProbe::measure_staged(int peer, bool starts) {
  const double small = one_way_seconds(peer, starts, small_bytes, 20);
  return link_of(small, one_way_seconds(peer, starts, large_bytes, 4));
}

double LinkProbe::one_way_seconds(int peer, bool starts, std::size_t bytes, int repetitions) {
  const Buffer buffer(arena_, bytes);
  arena_.device().fill(buffer.data(), 0, bytes);
  const auto exchange = [&](bool sends) {
    const PendingPtr pending = sends ? transport_->send(RankId(peer), 0, buffer.data(), bytes)
                                     : transport_->receive(RankId(peer), 0, buffer.data(), bytes);
    pair_waiter_.wait(*pending, [] { return std::string("measuring a link"); });
    arena_.device().synchronize();
  };
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repetitions; ++i) {
    const double start = wall_seconds();
    exchange(starts);
    exchange(!starts);
    best = std::min(best, (wall_seconds() - start) / 2.0);
  }
  return best;
}

Link measure_host_link(Device& device) {
  Arena pinned(0, {}, device.host_memory());
  Arena arena(0, {}, device);
  const auto slower_seconds = [&](std::size_t bytes) {
    const Buffer host(pinned, bytes);
    const Buffer block(arena, bytes);
    device.host_memory().fill(host.data(), 0, bytes);
    const double up =
        copy_seconds(device, [&] { return device.start_upload(block.data(), host.data(), bytes); });
    const double down = copy_seconds(
        device, [&] { return device.start_download(host.data(), block.data(), bytes); });
    return std::max(up, down);
  };
  const double small = slower_seconds(small_bytes);
  return link_of(small, slower_seconds(large_bytes));
}

}  // namespace pptrain
