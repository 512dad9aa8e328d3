#include "plan/validate.hpp"

#include "support/complaint.hpp"

namespace pptrain {
namespace {

TEST_CASE("stages with one chunk are listed in layer order", "[plan]") {
  Plan plan = uniform_plan({{3, 5}, {0, 3}}, 1, 1, 2, 1, "1f1b");
  CHECK(complaint_of([&] {
          validate_plan(plan, 5, 2, "p");
        }).find("stages are listed in layer order") != std::string::npos);
}

TEST_CASE("chunks lie where the schedule has them", "[plan]") {
  Plan plan = uniform_plan({{0, 2}, {2, 4}}, 1, 1, 2, 1, "zb-v");
  plan.schedule.virtual_stages = 2;
  plan.stages[0].layers = {{0, 1}, {3, 4}};
  plan.stages[1].layers = {{1, 2}, {2, 3}};
  validate_plan(plan, 4, 2, "p");
  const auto refused = [&](const char* schedule) {
    plan.schedule.name = schedule;
    return complaint_of([&] { validate_plan(plan, 4, 2, "p"); });
  };
  for (const char* looping : {"interleaved-1f1b", "breadth-first", "zeropp"}) {
    CHECK(refused(looping).starts_with("p: stages[1].layers: chunk 2 lies on stage 1"));
  }
  CHECK(refused("1f1b") ==
        "p: schedule.virtual_stages: is 2 (\"1f1b\" runs one chunk per stage); use 1, or another "
        "schedule");
  plan.stages[0].layers = {{0, 1}, {2, 3}};
  plan.stages[1].layers = {{1, 2}, {3, 4}};
  CHECK(refused("zb-v").starts_with("p: stages[0].layers: chunk 2 lies on stage 0"));
  for (const char* looping : {"interleaved-1f1b", "breadth-first", "zeropp"}) {
    plan.schedule.name = looping;
    validate_plan(plan, 4, 2, "p");
  }
}

TEST_CASE("batch sizes near the limit of integers are no overflow", "[plan]") {
  Plan plan = uniform_plan({{0, 2}}, 1, 1, 2, 1, "1f1b");
  plan.micro_batch_size = std::int64_t{1} << 62;
  plan.micro_batches = 4;
  CHECK(complaint_of([&] { validate_plan(plan, 2, 1, "p"); }).find("contradict") !=
        std::string::npos);
}

/// Three layers on four replicas, the last one split over the same devices.
Plan with_split_layer(TensorPattern pattern) {
  Plan plan = uniform_plan({{0, 3}}, 4, 1, 8, 4, "1f1b");
  plan.stages[0].blocks = {{{2, 3}, 1, 4, pattern, {{0, 4}}, {}}};
  return plan;
}

TEST_CASE("blocks that contradict themselves are refused", "[plan]") {
  Plan plan = with_split_layer(TensorPattern::replicate);
  CHECK_THROWS_WITH(validate_plan(plan, 3, 4, "p.json"),
                    Catch::Contains("\"replicate\" with tensor_parallel 4"));
  plan = with_split_layer(TensorPattern::sp1);
  plan.stages[0].blocks.push_back(plan.stages[0].blocks.front());
  CHECK_THROWS_WITH(validate_plan(plan, 3, 4, "p.json"),
                    Catch::Contains("overlap those of blocks[0]"));
}

TEST_CASE("a plan alone need not say of how many layers and devices", "[plan]") {
  Plan plan = uniform_plan({{0, 3}, {3, 5}}, 1, 1, 2, 1, "1f1b");
  plan.stages[1].devices = {{DeviceId(7)}};
  CHECK_NOTHROW(validate_plan_alone(plan, "p"));
  CHECK(complaint_of([&] {
          validate_plan(plan, 5, 2, "p");
        }).starts_with("p: stages[1].devices: device 7 does not exist"));
  plan.stages[1].layers = {{4, 6}};
  CHECK(complaint_of([&] {
          validate_plan_alone(plan, "p");
        }).starts_with("p: stages: layer 3 is in no stage"));
}

TEST_CASE("a schedule says which stage has a chunk", "[plan]") {
  const auto stages = [](const char* schedule, int chunks) {
    std::vector<int> all;
    for (int chunk = 0; chunk < chunks; ++chunk) all.push_back(stage_of_chunk(schedule, 3, chunk));
    return all;
  };
  CHECK(stages("1f1b", 3) == std::vector<int>{0, 1, 2});
  CHECK(stages("interleaved-1f1b", 7) == std::vector<int>{0, 1, 2, 0, 1, 2, 0});
  CHECK(stages("zb-v", 6) == std::vector<int>{0, 1, 2, 2, 1, 0});
}

}  // namespace
}  // namespace pptrain
