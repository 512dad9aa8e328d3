#include "runtime/execute/sum_groups.hpp"

#include "support/catch.hpp"

using namespace pptrain;

TEST_CASE("groups of different size own common slices of a unit", "[np4]") {
  const std::vector<SliceOwners> slices = common_slices({{0, 1}, {2, 3, 4}});
  REQUIRE(slices.size() == 4);  // at 1/3, 1/2 and 2/3
  CHECK(slices[0].replicas == std::vector<int>{0, 2});
  CHECK(slices[1].replicas == std::vector<int>{0, 3});
  CHECK(slices[2].replicas == std::vector<int>{1, 3});
  CHECK(slices[3].replicas == std::vector<int>{1, 4});
  CHECK(common_slices({{0, 1, 2, 3, 4}}).empty());
}

TEST_CASE("replicas sum within their node first, or where ZeRO divides within its groups") {
  Stage stage = uniform_plan({{0, 1}}, 4, 1, 4, 4, "1f1b").stages[0];
  const SumGroups all = {{0, 1, 2, 3}};
  CHECK(sum_groups(stage, 0, {}) == all);
  CHECK(sum_groups(stage, 0, {0, 0, 1, 1}) == SumGroups{{0, 1}, {2, 3}});
  CHECK(sum_groups(stage, 0, {5, 5, 5, 2}) == SumGroups{{0, 1, 2}, {3}});
  CHECK(sum_groups(stage, 0, {1, 0, 1, 0}) == SumGroups{{0, 2}, {1, 3}});
  CHECK(sum_groups(stage, 0, {0, 1, 2, 3}) == all);  // nobody to sum with first
  stage.zero_stage = 1;
  CHECK(sum_groups(stage, 0, {0, 0, 1, 1}) == all);
  stage.zero_groups = {{0, 1}, {1, 4}};
  CHECK(sum_groups(stage, 0, {}) == SumGroups{{0}, {1, 2, 3}});
  // Shards that lie on nodes differently.
  const Stage pairs = uniform_plan({{0, 1}}, 2, 2, 2, 2, "1f1b").stages[0];
  CHECK(sum_groups(pairs, 0, {0, 0, 0, 1}) == SumGroups{{0, 1}});
}
