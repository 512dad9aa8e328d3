#include "cost/shared_uplinks.hpp"

#include <cmath>

#include "cost/instances.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

std::vector<std::vector<DeviceId>> rings_of(const std::vector<std::vector<int>>& numbers) {
  std::vector<std::vector<DeviceId>> rings;
  for (const std::vector<int>& ring : numbers) {
    rings.emplace_back();
    for (const int device : ring) rings.back().emplace_back(device);
  }
  return rings;
}

TEST_CASE("rings divide the uplinks of the nodes that they have in common", "[uplinks]") {
  const Cluster cluster = nodes_of(3, 2);  // uplinks of 100 B/s
  const auto bandwidth = [&](const std::vector<std::vector<int>>& rings) {
    return shared_uplink_bandwidth(cluster, rings_of(rings));
  };
  CHECK(std::isinf(bandwidth({{0, 1}, {2, 3}})));
  CHECK(bandwidth({{0, 2}}) == 100.0);
  CHECK(bandwidth({{0, 2}, {1, 3}}) == 50.0);
  CHECK(bandwidth({{0, 2}, {1, 4}}) == 50.0);         // the first node's
  CHECK(bandwidth({{0, 1, 2, 3}, {4, 5}}) == 100.0);  // two devices of a node pass its uplink once
}

TEST_CASE("rings share the uplinks of switches", "[uplinks]") {
  Cluster cluster = nodes_of(4, 1);
  NodeGroup& group = cluster.groups.front();
  group.count = 2;
  group.switch_name = "a";
  NodeGroup other = group;
  other.switch_name = "b";
  cluster.groups.push_back(other);
  cluster.switches = {{"a", {60.0, 0.0}, "", 0.0}, {"b", {60.0, 0.0}, "", 0.0}};
  cluster.finish("made");
  CHECK(shared_uplink_bandwidth(cluster, rings_of({{0, 1}, {2, 3}})) == 100.0);
  CHECK(shared_uplink_bandwidth(cluster, rings_of({{0, 2}, {1, 3}})) == 30.0);
}

TEST_CASE("each shard of a mesh has a ring of its own", "[uplinks]") {
  const Cluster cluster = nodes_of(2, 4);
  const Plan plan = uniform_plan({{0, 1}}, 4, 2, 4, 4, "1f1b");  // replicas 0 and 1 on the first
                                                                 // node
  const Stage& stage = plan.stages.front();
  UplinkShares shares(cluster);
  shares.add(stage, {0, 2});
  CHECK(std::isinf(shares.bandwidth(stage, {0, 2})));
  shares.add(stage, {0, 4});
  CHECK(shares.bandwidth(stage, {0, 4}) == 50.0);
  shares.add({DeviceId(1), DeviceId(5)});
  CHECK(shares.bandwidth({DeviceId(1), DeviceId(5)}) == Approx(100.0 / 3.0));
}

}  // namespace
}  // namespace pptrain
