#include "plan/match.hpp"

#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

/// Two nodes of two devices of one kind and a node of one of another.
Cluster mixed_cluster() {
  Cluster cluster;
  cluster.name = "mixed";
  cluster.device_kinds = {{"fast", 1e9, {}, 0.0}, {"slow", 1e9, {}, 0.0}};
  NodeGroup fast;
  fast.device_kind = "fast";
  fast.count = 2;
  fast.num_devices = 2;
  fast.link = fast.uplink = {1e9, 0.0};
  NodeGroup slow = fast;
  slow.device_kind = "slow";
  slow.count = slow.num_devices = 1;
  cluster.groups = {fast, slow};
  cluster.finish("made");
  return cluster;
}

/// GPT-2 with 4 heads, 256 columns, 257 words, 6 layers.
Model small_model() {
  ModelConfig model;
  model.layers = 4;
  model.hidden_size = 64;
  model.heads = 4;
  model.vocabulary_size = 257;
  TrainingConfig training;
  training.sequence_length = 32;
  return build_model(model, training, "made");
}

/// Two stages, the first of two devices, the second of two replicas and one more: all five devices.
Plan matching_plan() {
  Plan plan = uniform_plan({{0, 3}, {3, 6}}, 1, 2, 8, 4, "1f1b");
  plan.stages[1].replicas = 3;
  plan.stages[1].tensor_parallel = 1;
  plan.stages[1].devices = {{DeviceId(2)}, {DeviceId(3)}, {DeviceId(4)}};
  plan.stages[1].samples = {{0, 2}, {2, 3}, {3, 4}};
  plan.stages[0].shards = {{"heads", {{0, 3}, {3, 4}}}, {"columns", {{0, 160}, {160, 256}}}};
  plan.device_kinds = {{"fast", 4}, {"slow", 1}};
  plan.cluster = "mixed";
  return plan;
}

std::string refusal(const Plan& plan, const Cluster& cluster = mixed_cluster(),
                    std::int64_t batch = 8) {
  return complaint_of([&] { check_plan_matches(plan, small_model(), cluster, batch, "p.json"); });
}

TEST_CASE("a plan of any shape matches the job it was made for", "[plan]") {
  check_plan_matches(matching_plan(), small_model(), mixed_cluster(), 8, "p.json");
  CHECK(kind_runs(mixed_cluster()) == matching_plan().device_kinds);
  const Plan read = parse_plan(write_plan(matching_plan()), "p.json");
  CHECK(read.device_kinds == matching_plan().device_kinds);
  check_plan_matches(read, small_model(), mixed_cluster(), 8, "p.json");
}

TEST_CASE("a plan may leave devices out that it knows of", "[plan]") {
  Plan plan = matching_plan();
  plan.stages[1].replicas = 2;
  plan.stages[1].devices.pop_back();
  plan.stages[1].samples = {{0, 2}, {2, 4}};
  check_plan_matches(plan, small_model(), mixed_cluster(), 8, "p.json");
  plan.device_kinds.clear();
  CHECK(
      refusal(plan) ==
      "p.json: a plan for 4 devices, but the job has 5 (the plan was made for cluster \"mixed\"); "
      "take that cluster or start 4 ranks, or plan again for 5");
  plan.cluster.clear();
  CHECK(refusal(plan).find("(a rank drives each device of the plan's cluster)") !=
        std::string::npos);
}

TEST_CASE("a plan for other devices is refused with the first that differs", "[plan]") {
  Plan plan = matching_plan();
  plan.device_kinds = {{"fast", 3}, {"slow", 2}};
  CHECK(refusal(plan) ==
        "p.json: device_kinds: device 3 is a \"slow\" in the plan and a \"fast\" in this job (the "
        "plan was made for "
        "cluster \"mixed\"); plan again, or start the ranks in the plan's order of devices");
  plan.device_kinds = {{"fast", 4}};
  CHECK(refusal(plan).starts_with("p.json: a plan for 4 devices, but the job has 5 ("));
}

TEST_CASE("a plan for another model or batch is refused with what differs", "[plan]") {
  Plan plan = matching_plan();
  plan.stages[1].layers = {{3, 8}};
  CHECK(refusal(plan).starts_with(
      "p.json: stages: layer 6 does not exist, but the model of this job has 6 layers"));
  plan = matching_plan();
  CHECK(refusal(plan, mixed_cluster(), 16)
            .starts_with("p.json: global_batch_size = 8, but the job says 16"));
  plan.stages[0].shards["columns"] = {{0, 640}, {640, 1024}};
  CHECK(refusal(plan).starts_with(
      "p.json: stages[0].shards.columns: they end at 1024, but the model has 256 columns"));
  plan.stages[0].shards["columns"] = {{0, 256}, {256, 256}};
  CHECK(refusal(plan).starts_with("p.json: stages[0].shards.columns: a member has none"));
}

TEST_CASE("a group of more members than heads is refused where there are heads", "[plan]") {
  Plan plan = uniform_plan({{0, 6}}, 1, 5, 8, 4, "1f1b");
  CHECK(refusal(plan).starts_with(
      "p.json: stages[0]: tensor_parallel = 5, but the model has 4 heads"));
}

}  // namespace
}  // namespace pptrain
