#pragma once

#include <mpi.h>

#include <vector>

#include "comm/waiter.hpp"
#include "probe/host.hpp"

namespace pptrain {

/// Where a rank runs.
struct RankHost {
  int leader = 0;  ///< lowest rank that it shares memory with
  HostReport host;
};

/// Of every rank, on all ranks. Collective over `world`.
std::vector<RankHost> find_rank_hosts(MPI_Comm world, Waiter& waiter);

}  // namespace pptrain
