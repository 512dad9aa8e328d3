// Times of parts and stages are in blocks_test.cpp, exchange_test.cpp and batch_norm_test.cpp.
#include "cost/stage_time.hpp"

#include <fmt/format.h>

#include "cost/instances.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("replicas of the same kinds, links, samples and loads are one group", "[cost]") {
  Cluster cluster = nodes_of(2, 2);  // devices 0 to 3, kind 0
  add_slow_node(cluster, 2);         // devices 4 and 5, kind 1
  Stage stage = uniform_plan({{0, 1}}, 3, 2, 6, 6, "1f1b").stages[0];
  const Link link = {1000.0, 0.5}, uplink = {100.0, 1.0};
  CHECK(replica_groups(cluster, stage) ==
        std::vector<ReplicaGroup>{{{0}, link, 2.0}, {{1}, link, 2.0}});
  stage.devices[1] = {DeviceId(4), DeviceId(3)};
  stage.devices[2] = {DeviceId(5), DeviceId(2)};
  CHECK(replica_groups(cluster, stage) ==
        std::vector<ReplicaGroup>{{{0}, link, 2.0}, {{0, 1}, uplink, 2.0}});
  stage.samples = {{0, 2}, {2, 3}, {3, 6}};
  CHECK(replica_groups(cluster, stage).size() == 3);
  stage.shards = {{"heads", {{0, 3}, {3, 4}}}};
  // The larger load of a kind counts; in the second replica kind 1 has three of four heads.
  CHECK(replica_groups(cluster, stage) ==
        std::vector<ReplicaGroup>{{{0}, link, 2.0, {1.5}},
                                  {{0, 1}, uplink, 1.0, {0.5, 1.5}},
                                  {{0, 1}, uplink, 3.0, {0.5, 1.5}}});
}

/// "0>2 x3" for three samples from device 0 to device 2.
std::vector<std::string> pairs_of(const Stage& sender, const Stage& receiver) {
  std::vector<std::string> pairs;
  for_each_pair(sender, receiver, [&](DeviceId from, DeviceId to, double samples) {
    pairs.push_back(fmt::format("{}>{} x{}", from.value, to.value, samples));
  });
  return pairs;
}

TEST_CASE("replicas with common samples exchange them, by shards where these are as many",
          "[cost]") {
  Plan plan = uniform_plan({{0, 1}, {1, 2}}, 2, 1, 6, 6, "1f1b");
  plan.stages[1].replicas = 3;
  plan.stages[1].devices = {{DeviceId(2)}, {DeviceId(3)}, {DeviceId(4)}};
  plan.stages[1].samples = {{0, 2}, {2, 4}, {4, 6}};
  CHECK(pairs_of(plan.stages[0], plan.stages[1]) ==
        std::vector<std::string>{"0>2 x2", "0>3 x1", "1>3 x1", "1>4 x2"});
  plan = uniform_plan({{0, 1}, {1, 2}}, 1, 2, 6, 6, "1f1b");
  CHECK(pairs_of(plan.stages[0], plan.stages[1]) == std::vector<std::string>{"0>2 x6", "1>3 x6"});
  plan.stages[1].tensor_parallel = 1;
  plan.stages[1].devices = {{DeviceId(2)}};
  CHECK(pairs_of(plan.stages[0], plan.stages[1]) == std::vector<std::string>{"0>2 x6", "1>2 x6"});
}

TEST_CASE("a layer is divided by the pattern that communicates less for it", "[cost]") {
  Profile profile;
  profile.layers = {layer("a", 1, 1, 1), layer("b", 1, 1, 1), layer("c", 1, 1, 1)};
  profile.layers[0].output_bytes = 100;
  profile.layers[1].output_bytes = 4000;
  profile.layers[2].output_bytes = 10;
  const Link link = {1000.0, 0.5};
  const auto takes = [&](int layer, TensorPattern pattern, double forward, double backward) {
    const TensorSeconds seconds = tensor_seconds(profile, link, layer, 2, 2.0, pattern);
    CHECK(seconds.forward == Approx(forward));
    CHECK(seconds.backward == Approx(backward));
  };
  const auto least = [&](int layer, int n) {
    return least_communication(profile, link, layer, n, 2.0);
  };
  // In a pair an all-reduce takes bytes / 1000 + 1, a gather half of that. Layer 0 has no input to
  // reduce, the last layer gathers no output.
  takes(0, TensorPattern::sp1, 0.6, 0.0);
  takes(1, TensorPattern::sp1, 4.5, 1.2);
  takes(1, TensorPattern::sp2, 9.0, 0.6);
  takes(2, TensorPattern::sp1, 0.0, 9.0);
  takes(2, TensorPattern::sp2, 1.02, 4.5);
  CHECK(least(0, 2) == TensorPattern::sp1);
  CHECK(least(1, 2) == TensorPattern::sp1);
  CHECK(least(2, 2) == TensorPattern::sp2);
  CHECK(least(2, 1) == TensorPattern::megatron);
  profile.layers[2].tensor_parallel_allreduce_bytes = 1e6;
  CHECK(least(2, 2) == TensorPattern::megatron);
  takes(2, TensorPattern::megatron, 2001.0, 2001.0);
}

TEST_CASE("what is offloaded takes a link's time, and of the step's state two chunks", "[cost]") {
  Profile profile = two_layers(5.0);
  profile.bytes_per_parameter.optimizer = 8;
  profile.layers[0].parameters = 1000;
  profile.layers[0].stored_bytes = 7;
  profile.layers[1].stored_bytes = 11;
  Cluster cluster = nodes_of(1, 1);
  add_slow_node(cluster, 1);
  cluster.groups[0].host_link = {36.0, 0.5};
  cluster.groups[1].host_link = {18.0, 0.25};
  const Instance instance = {profile, cluster, 2};
  Plan plan = uniform_plan({{0, 2}}, 1, 2, 2, 2, "1f1b");
  const StageParts parts(plan.stages[0]);
  // Two samples of 18 bytes over the slower of both members' links.
  CHECK(activation_offload_seconds(instance, parts.all()[0], 0) == Approx(36.0 / 18 + 0.25));
  // 500 parameters on each member: chunks of 64.
  CHECK(step_bytes(instance, parts, plan.stages[0], DeviceId(0)) == 0.0);
  plan.stages[0].offload = true;
  CHECK(step_bytes(instance, parts, plan.stages[0], DeviceId(0)) == 2 * 64 * 8);
  profile.layers[0].parameters = 10;  // less than two cache lines
  CHECK(step_bytes(instance, parts, plan.stages[0], DeviceId(0)) == 5 * 8);
}

TEST_CASE("chunks are in layer order, whichever stage has them", "[cost]") {
  const auto stages = [](const char* schedule) {
    std::vector<int> order;
    for (const Chunk& chunk : chunks_in_order(
             uniform_plan(even_division(4, 4), 1, 1, 2, 1, ScheduleChoice{schedule, 2, 0}))) {
      CHECK(chunk.layers == Interval{std::ssize(order), std::ssize(order) + 1});
      order.push_back(chunk.stage);
    }
    return order;
  };
  CHECK(stages("interleaved-1f1b") == std::vector<int>{0, 1, 0, 1});
  CHECK(stages("zb-v") == std::vector<int>{0, 1, 1, 0});
}

}  // namespace
}  // namespace pptrain
