#include "probe/links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/timing.hpp"
#include "comm/blocking_call.hpp"

namespace pptrain {
namespace {

/// Fastest one-way time of `bytes` in seconds.
double one_way_seconds(MPI_Comm comm, bool starts, int peer, int bytes, int repetitions) {
  std::vector<char> buffer(static_cast<std::size_t>(bytes), 0);
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repetitions; ++i) {
    const double start = MPI_Wtime();
    if (starts) MPI_Send(buffer.data(), bytes, MPI_CHAR, peer, 0, comm);
    MPI_Recv(buffer.data(), bytes, MPI_CHAR, peer, 0, comm, MPI_STATUS_IGNORE);
    if (!starts) MPI_Send(buffer.data(), bytes, MPI_CHAR, peer, 0, comm);
    best = std::min(best, (MPI_Wtime() - start) / 2.0);
  }
  return best;
}

}  // namespace

Link measure_link(MPI_Comm comm, int my_rank, int first, int second) {
  constexpr int small_bytes = 8;
  // Long enough that a token bucket's burst does not hide the rate of a shaped link.
  constexpr int large_bytes = 8 << 20;
  const bool starts = my_rank == first;
  const int peer = starts ? second : first;
  const BlockingCall waiting(fmt::format("measuring the link to rank {}", peer));
  const double latency = one_way_seconds(comm, starts, peer, small_bytes, 20);
  const double large = one_way_seconds(comm, starts, peer, large_bytes, 4);
  return {large_bytes / std::max(large - latency, 1e-9), latency};
}

double measure_shared_latency(Transport& transport, Waiter& waiter, bool starts, int peer) {
  constexpr int rounds = 40;
  if (peer < 0) return 0.0;
  const RankId other(peer);
  char byte = 0;
  const auto exchange = [&](bool sends) {
    const PendingPtr pending =
        sends ? transport.send(other, 0, &byte, 1) : transport.receive(other, 0, &byte, 1);
    waiter.wait(*pending, [] { return std::string("measuring a link"); });
  };
  std::vector<double> seconds;
  for (int i = 0; i < rounds; ++i) {
    const double start = MPI_Wtime();
    exchange(starts);
    exchange(!starts);
    seconds.push_back((MPI_Wtime() - start) / 2.0);
  }
  return median(std::move(seconds));
}

}  // namespace pptrain
