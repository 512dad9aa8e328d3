#include "plan/zero_groups.hpp"

#include "cost/instances.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("groups within a node are runs of replicas whose every shard is there", "[plan]") {
  Cluster cluster = nodes_of(2, 3);
  Stage stage = uniform_plan({{0, 2}}, 6, 1, 6, 6, "1f1b").stages[0];
  CHECK(node_groups(cluster, stage) == std::vector<Interval>{{0, 3}, {3, 6}});
  stage = uniform_plan({{0, 2}}, 3, 2, 6, 6, "1f1b").stages[0];  // the second replica lies on both
  CHECK(node_groups(cluster, stage) == std::vector<Interval>{{0, 1}, {1, 2}, {2, 3}});
  divide_state(stage, 2, ZeroGroup::node, cluster);
  CHECK(stage.zero_groups.size() == 3);
  divide_state(stage, 0, ZeroGroup::node, cluster);
  CHECK(stage.zero_groups.empty());
  cluster = nodes_of(1, 6);
  divide_state(stage, 2, ZeroGroup::node, cluster);
  CHECK(stage.zero_groups.empty());
}

TEST_CASE("nodes divide the state where each has as many replicas, and never beside blocks",
          "[plan]") {
  const auto stage_of = [](int replicas) {
    return uniform_plan({{0, 2}}, replicas, 1, 6, 6, "1f1b").stages[0];
  };
  CHECK(has_node_groups(nodes_of(2, 3), stage_of(6)));
  CHECK_FALSE(has_node_groups(nodes_of(1, 6), stage_of(6)));  // one node
  CHECK_FALSE(has_node_groups(nodes_of(6, 1), stage_of(6)));  // a replica on each
  CHECK_FALSE(has_node_groups(nodes_of(2, 4), stage_of(6)));  // four and two
  Stage stage = stage_of(6);
  divide_state(stage, 2, ZeroGroup::node, nodes_of(2, 3));
  CHECK(zero_group_of(stage) == ZeroGroup::node);
  stage.blocks.emplace_back();
  divide_state(stage, 2, ZeroGroup::node, nodes_of(2, 3));
  CHECK(zero_group_of(stage) == ZeroGroup::replicas);
}

}  // namespace
}  // namespace pptrain
