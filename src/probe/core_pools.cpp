#include "probe/core_pools.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/error.hpp"

namespace pptrain {
namespace {

using Core = std::pair<std::string, int>;  // kernel and number

/// Sets of ranks; the lowest rank of a set stands for it.
class RankSets {
 public:
  explicit RankSets(std::size_t num_ranks) : parent_(num_ranks) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  int find(int rank) {
    while (parent_[rank] != rank) rank = parent_[rank] = parent_[parent_[rank]];
    return rank;
  }
  void unite(int a, int b) {
    const auto [low, high] = std::minmax({find(a), find(b)});
    parent_[high] = low;
  }

 private:
  std::vector<int> parent_;
};

}  // namespace

std::vector<CorePool> core_pools(const std::vector<RankCores>& ranks) {
  RankSets sets(ranks.size());
  std::map<Core, int> user_of_core;
  std::map<int, int> rank_of_node;
  for (int r = 0; r < static_cast<int>(ranks.size()); ++r) {
    sets.unite(r, rank_of_node.try_emplace(ranks[r].node, r).first->second);
    for (const int core : ranks[r].cores)
      sets.unite(r, user_of_core.try_emplace({ranks[r].kernel, core}, r).first->second);
  }
  std::map<int, CorePool> pools;  // by lowest rank
  for (int r = 0; r < static_cast<int>(ranks.size()); ++r) pools[sets.find(r)].ranks.push_back(r);
  for (const auto& [core, user] : user_of_core) ++pools[sets.find(user)].num_cores;
  std::vector<CorePool> result;
  for (auto& [lowest, pool] : pools) result.push_back(std::move(pool));
  return result;
}

std::vector<CorePool> core_pools_of(const std::vector<RankHost>& ranks) {
  std::vector<RankCores> cores;
  for (const RankHost& rank : ranks)
    cores.push_back({rank.leader, rank.host.kernel, rank.host.cores});
  return core_pools(cores);
}

std::vector<CorePool> find_core_pools(MPI_Comm world, Waiter& waiter) {
  return core_pools_of(find_rank_hosts(world, waiter));
}

const CorePool& pool_of(const std::vector<CorePool>& pools, int rank) {
  const auto found = std::find_if(pools.begin(), pools.end(), [rank](const CorePool& pool) {
    return std::binary_search(pool.ranks.begin(), pool.ranks.end(), rank);
  });
  PPTRAIN_ASSERT(found != pools.end(), "rank {} is in no pool of cores", rank);
  return *found;
}

}  // namespace pptrain
