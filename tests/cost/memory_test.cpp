#include "cluster/reserve.hpp"
#include "cost/instances.hpp"
#include "cost/state_bytes.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// Layers of 10 and 30 parameters that hold 7 and 11 bytes per sample; cut of 5 bytes.
Profile two_layers() {
  Profile profile;
  profile.bytes_per_parameter = {2, 4, 8};
  profile.layers = {layer("a", 1, 1, 1), layer("b", 1, 1, 1)};
  profile.layers[0].parameters = 10;
  profile.layers[1].parameters = 30;
  profile.layers[0].stored_bytes = 7;
  profile.layers[1].stored_bytes = 11;
  profile.layers[0].output_bytes = 5;
  return profile;
}

TEST_CASE("a device holds its parameters and the micro-batches in flight", "[cost]") {
  const Profile profile = two_layers();
  const Cluster cluster = nodes_of(1, 5);
  const Instance instance = {profile, cluster, 24};
  Plan plan = uniform_plan({{0, 1}, {1, 2}}, 2, 1, 24, 6, "1f1b");
  // Stage 0: 14 * 10 + min(2 - 0, 4) * 3 samples * 7; stage 1: 14 * 30 + 1 * 3 * 11.
  CHECK(memory_bytes(instance, plan) == std::vector<double>{182, 182, 453, 453, 0});
  plan.schedule.name = "gpipe";  // all four micro-batches: 140 + 4 * 21, 420 + 4 * 33
  CHECK(memory_bytes(instance, plan) == std::vector<double>{224, 224, 552, 552, 0});
}

TEST_CASE("uneven replicas hold their own samples", "[cost]") {
  const Profile profile = two_layers();
  const Cluster cluster = nodes_of(1, 2);
  const Instance instance = {profile, cluster, 6};
  Plan plan = uniform_plan({{0, 2}}, 2, 1, 6, 6, "1f1b");
  plan.stages[0].samples = {{0, 5}, {5, 6}};
  CHECK(memory_bytes(instance, plan) == std::vector<double>{560 + 5 * 18, 560 + 18});
}

TEST_CASE("shards divide parameters, not activations", "[cost]") {
  Profile profile = two_layers();
  profile.workspace_bytes = 1000;
  const Cluster cluster = nodes_of(1, 2);
  const Instance instance = {profile, cluster, 2};
  const Plan plan = uniform_plan({{0, 2}}, 1, 2, 2, 1, "1f1b");
  CHECK(memory_bytes(instance, plan) == std::vector<double>{280 + 18 + 1000, 280 + 18 + 1000});
}

TEST_CASE("ZeRO divides by the replicas what its stage says", "[cost]") {
  const Profile profile = two_layers();
  const Cluster cluster = nodes_of(1, 2);
  const Instance instance = {profile, cluster, 2};
  Plan plan = uniform_plan({{0, 2}}, 2, 1, 2, 2, "1f1b");
  const auto need = [&](int zero_stage) {
    plan.stages[0].zero_stage = zero_stage;
    return memory_bytes(instance, plan)[0] - 18;
  };
  CHECK(need(0) == 40 * (2 + 4 + 8));
  CHECK(need(1) == 40 * (2 + 4 + 4));
  CHECK(need(2) == 40 * (2 + 2 + 4));
  CHECK(need(3) == 40 * (1 + 2 + 4));
}

TEST_CASE("ZeRO divides by the replicas of each group", "[cost]") {
  const Profile profile = two_layers();
  const Cluster cluster = nodes_of(1, 3);
  const Instance instance = {profile, cluster, 3};
  Plan plan = uniform_plan({{0, 2}}, 3, 1, 3, 3, "1f1b");
  plan.stages[0].zero_stage = 3;
  plan.stages[0].zero_groups = {{0, 1}, {1, 3}};
  CHECK(memory_bytes(instance, plan) ==
        std::vector<double>{40 * 14 + 18, 40 * 7 + 18, 40 * 7 + 18});
}

TEST_CASE("replicas hold their slices of what ZeRO divides", "[cost]") {
  const Profile profile = two_layers();
  const Cluster cluster = nodes_of(1, 3);
  const Instance instance = {profile, cluster, 3};
  Plan plan = uniform_plan({{0, 2}}, 3, 1, 3, 3, "1f1b");
  plan.stages[0].zero_stage = 3;
  plan.stages[0].zero_slices = {{0, 5}, {5, 7}, {7, 8}};
  // 40 parameters of 14 bytes are 560, of which each has 5, 2 and 1 eighths.
  CHECK(memory_bytes(instance, plan) == std::vector<double>{350 + 18, 140 + 18, 70 + 18});
  plan.stages[0].zero_stage = 1;  // of 8 of these bytes
  CHECK(memory_bytes(instance, plan) ==
        std::vector<double>{240 + 200 + 18, 240 + 80 + 18, 240 + 40 + 18});
  CHECK(state_bytes(instance, plan)[0].optimizer == 200);
}

TEST_CASE("recomputation keeps the layers' inputs only", "[cost]") {
  const Profile profile = two_layers();
  const Cluster cluster = nodes_of(1, 1);
  const Instance instance = {profile, cluster, 2};
  Plan plan = uniform_plan({{0, 2}}, 1, 1, 2, 1, "1f1b");
  plan.stages[0].recompute = Recompute::full;
  CHECK(memory_bytes(instance, plan)[0] == 560 + 5);  // layer 0's input is no output of a layer
}

TEST_CASE("micro-batches in flight by schedule", "[cost]") {
  Plan plan = uniform_plan({{0, 1}, {1, 2}, {2, 3}, {3, 4}}, 1, 1, 5, 1, "1f1b");
  const auto counts = [&](const std::string& schedule) {
    plan.schedule.name = schedule;
    std::vector<std::int64_t> result;
    for (int i = 0; i < 4; ++i) result.push_back(micro_batches_in_flight(plan, StageId(i)));
    return result;
  };
  CHECK(counts("1f1b") == std::vector<std::int64_t>{4, 3, 2, 1});
  CHECK(counts("gpipe") == std::vector<std::int64_t>{5, 5, 5, 5});
  CHECK(counts("dapple-b") == std::vector<std::int64_t>{5, 5, 3, 1});  // min(2(S - i) - 1, 5)
  plan.micro_batches = 2;
  CHECK(counts("1f1b") == std::vector<std::int64_t>{2, 2, 2, 1});
}

TEST_CASE("what does not fit is named with need and capacity", "[cost]") {
  const Profile profile = two_layers();
  const Cluster cluster = nodes_of(1, 2, 452);
  const Instance instance = {profile, cluster, 24};
  const Plan plan = uniform_plan({{0, 1}, {1, 2}}, 1, 1, 24, 3, "1f1b");
  // 140 + 2 * 21 and 420 + 33 = 453 bytes
  CHECK(why_not_fit(instance, plan) == "device 1 (v) needs 453 B of its 452 B, 1 B too much");
  const Cluster larger = nodes_of(1, 2, 453);
  CHECK(why_not_fit({profile, larger, 24}, plan).empty());
}

TEST_CASE("a plan fits into what a reserve leaves, to the byte", "[cost]") {
  const Profile profile = two_layers();
  const Plan plan = uniform_plan({{0, 1}, {1, 2}}, 1, 1, 24, 3, "1f1b");
  Cluster cluster = nodes_of(1, 2, 600);
  set_reserve(cluster.device_kinds.front(), 147);  // of 600 bytes, of which the plan needs 453
  CHECK(why_not_fit({profile, cluster, 24}, plan).empty());
  set_reserve(cluster.device_kinds.front(), 148);
  CHECK(why_not_fit({profile, cluster, 24}, plan) ==
        "device 1 (v) needs 453 B of its 452 B beside a reserve of 148 B, 1 B too much");
}

}  // namespace
}  // namespace pptrain
