#include "simulate/phase_seconds.hpp"

#include <cmath>

#include "cost/instances.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// Layers of which kind "v" is slow in the first and kind "t" in the second; the second all-reduces
/// 100 bytes per sample.
Profile opposite_kinds() {
  Profile profile;
  profile.layers = {layer("a", 1, 2, 3), layer("b", 1, 1, 1)};
  add_kind(profile, "t", 0.5);
  profile.layers[1].rows[1].seconds = {2, 3, 4};
  profile.layers[1].tensor_parallel_allreduce_bytes = 100;
  return profile;
}

TEST_CASE("of each layer the slowest kind computes, B and W in one as long as both", "[simulate]") {
  const Profile profile = opposite_kinds();
  Cluster cluster = nodes_of(1, 1);
  add_slow_node(cluster, 1);
  const Instance instance = {profile, cluster, 2};
  Stage stage = uniform_plan({{0, 2}}, 1, 1, 2, 2, "1f1b").stages[0];
  const StageParts parts(stage);
  const StagePart& part = parts.all()[0];
  const auto seconds = [&](const ReplicaGroup& group) {
    return computing_seconds(instance, part, group);
  };
  // F, B, W, and B with W, of two samples.
  CHECK(seconds({{0}, {}, 2.0}) == PhaseSeconds{4, 6, 8, 14});
  CHECK(seconds({{0, 1}, {}, 2.0}) == PhaseSeconds{2 + 4, 4 + 6, 6 + 8, 10 + 14});
  CHECK(seconds({{0, 1}, {}, 2.0, {1.0, 0.25}}) == PhaseSeconds{4, 6, 8, 14});
  stage.recompute = Recompute::full;  // F again before B
  CHECK(seconds({{0}, {}, 2.0}) == PhaseSeconds{4, 10, 8, 18});
}

TEST_CASE("sums of a tensor-parallel group come in F and B, and again where F is recomputed",
          "[simulate]") {
  Profile profile = opposite_kinds();
  add_degree(profile, 2);
  const Cluster cluster = nodes_of(1, 2);
  const Instance instance = {profile, cluster, 2};
  Stage stage = uniform_plan({{0, 2}}, 1, 2, 2, 2, "1f1b").stages[0];
  const StageParts parts(stage);
  const ReplicaGroup group = replica_group(cluster, parts.all()[0], 0);
  const auto check = [&](double forward, double backward) {
    const PhaseSeconds found = tensor_phase_seconds(instance, parts.all()[0], group);
    CHECK(found[0] == Approx(forward));
    CHECK(found[1] == Approx(backward));
    CHECK(found[2] == 0.0);
    CHECK(found[3] == Approx(backward));
  };
  check(1.2, 1.2);  // 200 bytes in a pair: 0.2 + 2 * 0.5
  stage.recompute = Recompute::full;
  check(1.2, 2.4);
}

TEST_CASE("groups that sum at the same time share the uplinks between their members",
          "[simulate]") {
  Profile profile = opposite_kinds();
  const Cluster cluster = nodes_of(2, 2);  // uplinks of 100 B/s
  const auto bandwidth = [&](const Stage& stage) {
    const StageParts parts(stage);
    return tensor_bandwidth({profile, cluster, 2}, parts.all()[0]);
  };
  Stage stage = uniform_plan({{0, 2}}, 2, 2, 4, 4, "1f1b").stages[0];
  CHECK(std::isinf(bandwidth(stage)));  // each in a node
  stage.devices = {{DeviceId(0), DeviceId(2)}, {DeviceId(1), DeviceId(3)}};
  CHECK(bandwidth(stage) == 50.0);
  const StageParts parts(stage);
  const Instance instance = {profile, cluster, 4};
  const ReplicaGroup shared = replica_group_with(50.0, instance, parts.all()[0], 1);
  CHECK(shared == ReplicaGroup{{0}, {50.0, 1.0}, 2.0});
  CHECK(replica_group_with(1e9, instance, parts.all()[0], 1).link.bandwidth == 100.0);
  profile.communication.half_bytes = 1.0;  // of another runtime
  CHECK(std::isinf(bandwidth(stage)));
}

TEST_CASE("a member alone has its kind and its own load", "[simulate]") {
  Cluster cluster = nodes_of(1, 1);
  add_slow_node(cluster, 1);
  Stage stage = uniform_plan({{0, 2}}, 1, 2, 4, 4, "1f1b").stages[0];
  stage.shards = {{"heads", {{0, 3}, {3, 4}}}};
  const StageParts parts(stage);
  const ReplicaGroup member = member_group(cluster, parts.all()[0], 0, 1);
  CHECK(member.kinds == std::vector<int>{1});
  CHECK(member.loads == std::vector<double>{0.5});
  CHECK(member.samples == 4.0);
  CHECK(largest({1, 2, 3, 4}, {4, 3, 2, 1}) == PhaseSeconds{4, 3, 3, 4});
}

}  // namespace
}  // namespace pptrain
