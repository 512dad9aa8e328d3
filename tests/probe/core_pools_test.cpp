#include "probe/core_pools.hpp"

#include "support/catch.hpp"

namespace pptrain {
namespace {

std::vector<std::vector<int>> ranks_of(const std::vector<CorePool>& pools) {
  std::vector<std::vector<int>> ranks;
  for (const CorePool& pool : pools) ranks.push_back(pool.ranks);
  return ranks;
}

using Ranks = std::vector<std::vector<int>>;

TEST_CASE("hosts are pools of their own, though their cores have the same numbers") {
  const auto pools = core_pools(
      {{0, "a", {0, 1}}, {0, "a", {0, 1}}, {2, "b", {0, 1}}, {2, "b", {0, 1}}, {2, "b", {0, 1}}});
  CHECK(ranks_of(pools) == Ranks{{0, 1}, {2, 3, 4}});
  CHECK(pools[0].num_cores == 2);
  CHECK_FALSE(pools[0].is_shared());
  CHECK(pools[1].is_shared());
  CHECK(pool_of(pools, 3).core_use() == CoreUse::shared);
}

TEST_CASE("containers of one host are a pool where they may use the same cores") {
  const auto same =
      core_pools({{0, "a", {0, 1}}, {1, "a", {0, 1}}, {2, "a", {0, 1}}, {3, "a", {0, 1}}});
  CHECK(ranks_of(same) == Ranks{{0, 1, 2, 3}});
  CHECK(same[0].num_cores == 2);
  const auto apart = core_pools({{0, "a", {0, 1}}, {1, "a", {2, 3}}, {2, "a", {3, 4}}});
  CHECK(ranks_of(apart) == Ranks{{0}, {1, 2}});
  CHECK(apart[1].num_cores == 3);
  CHECK_FALSE(apart[1].is_shared());
  // The last one uses cores of two that know nothing of each other.
  const auto joined = core_pools({{0, "a", {0}}, {1, "a", {1}}, {2, "a", {0, 1}}});
  CHECK(ranks_of(joined) == Ranks{{0, 1, 2}});
  CHECK(joined[0].is_shared());
}

TEST_CASE("ranks of a node that are bound to a core each have cores of their own") {
  const auto pools = core_pools({{0, "a", {0}}, {0, "a", {1}}, {0, "a", {2}}, {0, "a", {3}}});
  CHECK(ranks_of(pools) == Ranks{{0, 1, 2, 3}});
  CHECK(pools[0].num_cores == 4);
  CHECK_FALSE(pools[0].is_shared());
}

}  // namespace
}  // namespace pptrain
