#include "plan/plan.hpp"

#include "cost/instances.hpp"
#include "plan/zero_groups.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

TEST_CASE("a uniform grid numbers its devices stage by stage, replica by replica", "[plan]") {
  const Plan plan = uniform_plan({{0, 3}, {3, 5}}, 2, 2, 16, 4, "gpipe");
  CHECK(plan.micro_batches == 4);
  CHECK(plan.schedule.name == "gpipe");
  REQUIRE(plan.num_stages() == 2);
  CHECK(plan.num_devices() == 8);
  const Stage& last = plan.stages[1];
  CHECK(last.layers == std::vector<Interval>{{3, 5}});
  // (i * dp + j) * tmp + k with i = 1, dp = tmp = 2
  CHECK(last.devices ==
        std::vector<std::vector<DeviceId>>{{DeviceId(4), DeviceId(5)}, {DeviceId(6), DeviceId(7)}});
  CHECK(last.samples == std::vector<Interval>{{0, 2}, {2, 4}});
  CHECK(plan.shape() == "PP 2 x DP 2 x TP 2");
  validate_plan(plan, 5, 8, "made");
}

TEST_CASE("stages of different shapes are all shown", "[plan]") {
  Plan plan = uniform_plan({{0, 3}, {3, 5}}, 2, 1, 16, 4, "1f1b");
  plan.stages[1].replicas = 1;
  plan.stages[1].tensor_parallel = 2;
  plan.stages[1].devices = {{DeviceId(2), DeviceId(3)}};
  plan.stages[1].samples = {{0, 4}};
  validate_plan(plan, 5, 4, "made");
  CHECK(plan.shape() == "2 stages of DP x TP 2x1 | 1x2");
  plan.stages.push_back(plan.stages.back());
  CHECK(plan.shape() == "3 stages of DP x TP 2x1 | 1x2 (2 times)");
  plan.stages.pop_back();
}

TEST_CASE("all schedules of the interface are valid in a plan", "[plan]") {
  CHECK(schedule_names().size() == 10);
  for (const std::string& name : schedule_names()) {
    Plan plan = uniform_plan({{0, 2}}, 1, 1, 2, 1, name);
    if (name == "zb-v") {
      plan.schedule.virtual_stages = 2;
      plan.stages[0].layers = {{0, 1}, {1, 2}};
    }
    validate_plan(plan, 2, 1, "p");
  }
}

TEST_CASE("a plan has to match its model and cluster", "[plan]") {
  const Plan plan = uniform_plan({{0, 3}, {3, 5}}, 2, 1, 16, 4, "1f1b");
  const auto refused = [&](int layers, int devices) {
    return complaint_of([&] { validate_plan(plan, layers, devices, "p.json"); });
  };
  CHECK(refused(6, 4) ==
        "p.json: stages: layer 5 is in no stage, but the model of this job has 6 layers (the plan "
        "was made for 5 layers, "
        "numbered from 0); name a plan of this model, or plan again: pptrain plan CONFIG.toml -o "
        "PLAN.json");
  CHECK(refused(4, 4).starts_with(
      "p.json: stages: layer 4 does not exist, but the model of this job has 4 layers ("));
  CHECK(refused(5, 3).starts_with(
      "p.json: stages[1].devices: device 3 does not exist (the cluster has 3 devices"));
}

const std::string document =
    R"({"schema": "pptrain.plan/1", "planner": "auto", "model": "gpt2-24", "cluster": "c",
 "global_batch_size": 32, "micro_batch_size": 2, "micro_batches": 16,
 "schedule": {"name": "1f1b", "virtual_stages": 1, "unit": 0},
 "stages": [
   {"layers": [[0, 7]], "replicas": 2, "tensor_parallel": 1, "devices": [[0], [4]],
    "samples": [[0, 1], [1, 2]], "shards": {}, "recompute": "none", "zero_stage": 0, "offload": false, "blocks": []},
   {"layers": [[7, 9]], "replicas": 1, "tensor_parallel": 2, "devices": [[1, 2]],
    "samples": [[0, 2]], "shards": {"heads": [[0, 3], [3, 4]]}, "recompute": "full", "zero_stage": 1, "offload": true,
    "blocks": [{"layers": [8, 9], "replicas": 2, "tensor_parallel": 1, "pattern": "replicate",
                "samples": [[0, 1], [1, 2]], "shards": {}}]}],
 "predicted": {"iteration_seconds": 1.28, "estimate_seconds": 1.25, "estimates": {"amp": 1.25, "dapple": 1.22},
               "lower_bound_seconds": 1.19, "bubble_fraction": 0.08, "peak_bytes": [9663676416]},
 "search": {"candidates": 4321, "seconds": 0.41},
 "alternatives": [{"planner": "data-parallel", "iteration_seconds": null, "feasible": false, "why_not": "memory"}]})";

std::string refused(const std::string& from, const std::string& to) {
  return complaint_of([&] { parse_plan(replaced(document, from, to), "p.json"); });
}

TEST_CASE("groups of replicas that divide the state are written and read", "[plan][json]") {
  Plan plan = uniform_plan({{0, 2}}, 4, 1, 4, 4, "1f1b");
  CHECK(write_plan(plan).find("zero_groups") == std::string::npos);
  CHECK(plan.stages[0].sharding_groups() == std::vector<Interval>{{0, 4}});
  plan.stages[0].zero_stage = 3;
  plan.stages[0].zero_groups = {{0, 1}, {1, 4}};
  const Plan again = parse_plan(write_plan(plan), "p.json");
  CHECK(same_plan(plan, again));
  CHECK(again.stages[0].sharding_group_of(0) == Interval{0, 1});
  CHECK(again.stages[0].sharding_group_of(2) == Interval{1, 4});
}

TEST_CASE("slices of what ZeRO divides are written and read", "[plan][json]") {
  Plan plan = uniform_plan({{0, 2}}, 3, 1, 3, 3, "1f1b");
  plan.stages[0].zero_stage = 1;
  CHECK(write_plan(plan).find("zero_slices") == std::string::npos);
  CHECK(plan.stages[0].slices_of(1) == 3.0);
  CHECK(plan.stages[0].largest_slice() == 1.0);
  plan.stages[0].zero_slices = {{0, 4}, {4, 5}, {5, 8}};
  const Plan again = parse_plan(write_plan(plan), "p.json");
  CHECK(same_plan(plan, again));
  CHECK(again.stages[0].slices_of(0) == 2.0);
  CHECK(again.stages[0].slices_of(1) == 8.0);
  CHECK(again.stages[0].largest_slice() == 1.5);
  Stage stage = again.stages[0];
  divide_state(stage, 2, ZeroGroup::replicas, nodes_of(1, 3));
  CHECK(stage.zero_slices.empty());
}

TEST_CASE("a plan is read as documented", "[plan][json]") {
  const Plan plan = parse_plan(document, "p.json");
  CHECK(plan.planner == "auto");
  CHECK(plan.micro_batches == 16);
  REQUIRE(plan.num_stages() == 2);
  CHECK(plan.stages[0].devices == std::vector<std::vector<DeviceId>>{{DeviceId(0)}, {DeviceId(4)}});
  CHECK(plan.stages[1].shards.at("heads") == std::vector<Interval>{{0, 3}, {3, 4}});
  CHECK(plan.stages[1].recompute == Recompute::full);
  CHECK(plan.stages[1].offload);
  REQUIRE(plan.stages[1].blocks.size() == 1);
  CHECK(plan.stages[1].blocks[0].layers == Interval{8, 9});
  CHECK(plan.predicted->estimates.at("dapple") == 1.22);
  CHECK(plan.search_candidates == 4321);
  REQUIRE(plan.alternatives.size() == 1);
  CHECK_FALSE(plan.alternatives[0].iteration_seconds.has_value());
}

TEST_CASE("a plan reads back as it was written, to the last bit", "[plan][json]") {
  Plan plan = parse_plan(document, "p.json");
  plan.predicted->iteration_seconds = 0.1 + 0.2;
  plan.predicted->estimates["amp"] = 1.0 / 3.0;
  plan.predicted->peak_bytes = {1e17, 3.0, 2.5e-17};
  plan.alternatives.push_back({"megatron", 2.0 / 3.0, true, "", std::nullopt});
  plan.search_seconds = 1e-9;
  plan.search_complete = false;
  const std::string text = write_plan(plan);
  const Plan back = parse_plan(text, "written");
  CHECK(back.predicted->iteration_seconds == 0.1 + 0.2);
  CHECK(back.predicted->estimates == plan.predicted->estimates);
  CHECK(back.predicted->peak_bytes == plan.predicted->peak_bytes);
  CHECK(back.alternatives[1].iteration_seconds == 2.0 / 3.0);
  CHECK(back.search_seconds == 1e-9);
  CHECK_FALSE(back.search_complete);
  CHECK(write_plan(back) == text);
  CHECK(text.find("\"iteration_seconds\":null") != std::string::npos);
}

TEST_CASE("what a planner added may be absent", "[plan][json]") {
  const std::string bare = document.substr(0, document.find(",\n \"predicted\"")) + "}";
  const Plan plan = parse_plan(bare, "p.json");
  CHECK_FALSE(plan.predicted.has_value());
  CHECK(plan.alternatives.empty());
  CHECK(write_plan(plan).find("predicted") == std::string::npos);
}

TEST_CASE("each contradiction of a plan is refused with its path", "[plan][json]") {
  CHECK(refused("\"micro_batches\": 16", "\"micro_batches\": 15")
            .find("15 micro-batches of 2 samples are not a global batch of 32") !=
        std::string::npos);
  CHECK(refused("\"1f1b\"", "\"1f2b\"").find("did you mean \"1f1b\"?") != std::string::npos);
  CHECK(refused("[[0, 7]]", "[[0, 6]]").starts_with("p.json: stages: layer 6 is in no stage"));
  CHECK(refused("[[0, 7]]", "[[0, 8]]").starts_with("p.json: stages: layer 7 is in two stages"));
  CHECK(
      refused("[[0, 7]]", "[[0, 3], [3, 7]]").starts_with("p.json: stages[0].layers: 2 intervals"));
  CHECK(refused("[[0, 7]]", "[[3, 3]]")
            .starts_with("p.json: stages[0].layers: [3, 3] holds no layers"));
  CHECK(refused("[[1, 2]]", "[[1, 4]]")
            .starts_with("p.json: stages[1].devices: device 4 is used twice"));
  CHECK(refused("[[1, 2]]", "[[1], [2]]")
            .starts_with("p.json: stages[1].devices: is not a mesh of 1 x 2"));
  CHECK(
      refused("[[0, 1], [1, 2]], \"shards\": {}, \"rec", "[[0, 1], [0, 2]], \"shards\": {}, \"rec")
          .starts_with("p.json: stages[0].samples: do not cover"));
  CHECK(
      refused("[[0, 1], [1, 2]], \"shards\": {}, \"rec", "[[0, 2], [2, 2]], \"shards\": {}, \"rec")
          .starts_with("p.json: stages[0].samples: a replica has no samples"));
  CHECK(refused("\"samples\": [[0, 2]]", "\"samples\": [[0, 1], [1, 2]]")
            .find("2 intervals for 1 replicas") != std::string::npos);
  CHECK(refused("\"heads\"", "\"rows\"")
            .starts_with("p.json: stages[1].shards: unknown axis \"rows\""));
  CHECK(refused("[[0, 3], [3, 4]]", "[[0, 3], [2, 4]]").find("gap or overlap") !=
        std::string::npos);
  CHECK(refused("\"zero_stage\": 1", "\"zero_stage\": 4")
            .starts_with("p.json: stages[1].zero_stage: is 4"));
  const std::string groups = "\"zero_groups\": ";
  const auto with_groups = [&](const std::string& stage, const std::string& intervals) {
    return refused("\"zero_stage\": " + stage,
                   "\"zero_stage\": " + stage + ", " + groups + intervals);
  };
  CHECK(with_groups("0", "[[0, 1], [1, 2]]")
            .starts_with("p.json: stages[0].zero_groups: are given with zero_stage = 0"));
  CHECK(with_groups("1", "[[0, 1]]")
            .starts_with("p.json: stages[1].zero_groups: are given for a stage with blocks"));
  CHECK(refused("\"zero_stage\": 0", "\"zero_stage\": 1, " + groups + "[[0, 1], [1, 3]]")
            .starts_with("p.json: stages[0].zero_groups: do not cover the 2 replicas once"));
  const std::string slices = "\"zero_slices\": ";
  const auto with_slices = [&](const std::string& stage, const std::string& zero,
                               const std::string& intervals) {
    return refused("\"zero_stage\": " + stage,
                   "\"zero_stage\": " + zero + ", " + slices + intervals);
  };
  CHECK(with_slices("0", "0", "[[0, 1], [1, 3]]")
            .starts_with("p.json: stages[0].zero_slices: are given with zero_stage = 0"));
  CHECK(with_slices("1", "1", "[[0, 1]]")
            .starts_with("p.json: stages[1].zero_slices: are given with zero_groups or blocks"));
  for (const char* wrong :
       {"[[0, 3]]", "[[0, 1], [1, 1]]", "[[0, 1], [2, 3]]", "[[1, 2], [2, 3]]"}) {
    CHECK(with_slices("0", "2", wrong)
              .starts_with(
                  "p.json: stages[0].zero_slices: are not a slice of each of the 2 replicas"));
  }
  CHECK(refused("\"layers\": [8, 9]", "\"layers\": [6, 9]")
            .starts_with("p.json: stages[1].blocks[0].layers"));
  // 65536 x 65537 devices are 65536 where a product leaves 32 bits.
  CHECK(refused("\"replicas\": 2, \"tensor_parallel\": 1, \"pattern\"",
                "\"replicas\": 65536, \"tensor_parallel\": 65537, \"pattern\"")
            .starts_with("p.json: stages[1].blocks[0]: 65536 replicas x 65537 members are not the "
                         "stage's 2 devices"));
  for (const std::string key :
       {"global_batch_size\": 32", "micro_batch_size\": 2", "micro_batches\": 16"}) {
    const std::string name = key.substr(0, key.find('"'));
    CHECK(refused(key, name + "\": 9007199254740992")
              .starts_with("p.json: " + name + ": is too large"));
  }
  const std::string count = "\"micro_batches\": 16";
  CHECK(refused(count, count + ", \"context\": 3").starts_with("p.json: stages[0].replicas: is 2"));
  CHECK(refused(count, count + ", \"context\": 2").starts_with("p.json: stages[1].replicas: is 1"));
  CHECK(refused("\"full\"", "\"fully\"").find("did you mean \"full\"?") != std::string::npos);
  CHECK(refused("\"replicas\": 2", "\"replica\": 2").find("did you mean \"replicas\"?") !=
        std::string::npos);
  CHECK(refused("\"global_batch_size\": 32", "\"global_batch_size\": 0")
            .starts_with("p.json: global_batch_size"));
  CHECK(refused("plan/1", "plan/7").starts_with("p.json: schema: unknown schema"));
}

}  // namespace
}  // namespace pptrain
