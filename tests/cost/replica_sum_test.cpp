#include "cost/replica_sum.hpp"

#include "cost/instances.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// One stage of so many replicas; links have 1000 B/s and 0.5 s, uplinks 100 B/s and 1 s.
Stage replicated(int replicas, int tensor_parallel = 1) {
  return uniform_plan({{0, 1}}, replicas, tensor_parallel, replicas, replicas, "1f1b").stages[0];
}

TEST_CASE("replicas without groups sum in one ring of each shard", "[cost]") {
  const ReplicaSum four(nodes_of(1, 4), replicated(4), 0);
  CHECK(four.seconds(800.0) == Approx(2.0 * 3 / 4 * 800 / 1000 + 6 * 0.5));
  CHECK(four.within_seconds(800.0) == four.seconds(800.0));
  CHECK(four.across().members == 1);
  // Shard 0 is on devices 0 and 2 of a node, shard 1 on devices 1 and 3 of two.
  const std::vector<ReplicaSum> sums = replica_sums(nodes_of(2, 3), replicated(2, 2));
  REQUIRE(sums.size() == 2);
  CHECK(sums[0].seconds(100.0) == Approx(100.0 / 1000 + 1));
  CHECK(sums[1].seconds(100.0) == Approx(100.0 / 100 + 2));
}

TEST_CASE("groups of replicas sum within, the slowest counts, and then between them", "[cost]") {
  Stage stage = replicated(8);
  stage.zero_stage = 1;
  stage.zero_groups = {{0, 4}, {4, 8}};
  const ReplicaSum even(nodes_of(2, 4), stage, 0);
  CHECK(even.within().size() == 1);  // both alike
  CHECK(even.within_seconds(800.0) == Approx(1.2 + 3.0));
  CHECK(even.across_seconds(800.0) == Approx(800.0 / 100 + 2));  // slices share the uplink
  CHECK(even.seconds(800.0) == Approx(4.2 + 10.0));
  stage.zero_groups = {{0, 2}, {2, 4}, {4, 8}};
  const ReplicaSum uneven(nodes_of(2, 4), stage, 0);
  CHECK(uneven.within().size() == 2);
  CHECK(uneven.within_seconds(800.0) == Approx(4.2));
  CHECK(uneven.across().members == 3);
}

TEST_CASE("between groups of one node every slice has links of its own", "[cost]") {
  Stage stage = replicated(4);
  stage.zero_stage = 1;
  stage.zero_groups = {{0, 2}, {2, 4}};
  const ReplicaSum sum(nodes_of(1, 4), stage, 0);
  CHECK(sum.within_seconds(800.0) == Approx(0.8 + 1.0));
  CHECK(sum.across_seconds(800.0) == Approx(400.0 / 1000 + 1.0));
}

TEST_CASE("unequal slices take as long as if all were as large as the largest one", "[cost]") {
  Stage stage = replicated(2);
  CHECK(least_sharers(stage) == 2.0);
  stage.zero_stage = 1;
  stage.zero_slices = {{0, 3}, {3, 4}};
  CHECK(ReplicaSum(nodes_of(1, 2), stage, 0).seconds(800.0) == Approx(1200.0 / 1000 + 1));
  CHECK(least_sharers(stage) == Approx(4.0 / 3));
  stage = replicated(4);
  stage.zero_groups = {{0, 1}, {1, 4}};
  CHECK(least_sharers(stage) == 1.0);
}

}  // namespace
}  // namespace pptrain
