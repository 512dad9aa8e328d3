#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "comm/waiter.hpp"
#include "probe/rank_hosts.hpp"

namespace pptrain {

/// The cores that a rank may use.
struct RankCores {
  int node = 0;            ///< lowest rank that it shares memory with
  std::string kernel;      ///< `HostReport::kernel`
  std::vector<int> cores;  ///< numbers of the kernel's
};

/// Ranks that compute on the same cores: those of a node, and of other nodes where these are
/// containers, or network namespaces, of one host and may use the same cores.
struct CorePool {
  std::vector<int> ranks;  ///< rising
  int num_cores = 0;

  /// Whether there are fewer cores than ranks, so that ranks have to take turns.
  bool is_shared() const { return num_cores < static_cast<int>(ranks.size()); }
  /// How the ranks of the pool should wait for others: `shared` where cores are fewer than they.
  CoreUse core_use() const { return is_shared() ? CoreUse::shared : CoreUse::own; }
};

/// The pools by their lowest ranks; every rank is in one.
std::vector<CorePool> core_pools(const std::vector<RankCores>& ranks);
std::vector<CorePool> core_pools_of(const std::vector<RankHost>& ranks);

/// The pools of all ranks, on all of them. Collective over `world`.
std::vector<CorePool> find_core_pools(MPI_Comm world, Waiter& waiter);

const CorePool& pool_of(const std::vector<CorePool>& pools, int rank);

}  // namespace pptrain
