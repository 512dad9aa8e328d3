#include "planners/given_plan.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "cost/instances.hpp"
#include "planners/gpt_on_four.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

TEST_CASE("a plan from a file that does not fit is refused", "[planners]") {
  Gpt gpt(8);
  const Instance instance = gpt.instance();
  const Plan plan = *by_forms("megatron", instance, restrictions_of(gpt.config)).plan;
  REQUIRE(simulated_use(instance, plan) > 1.0);
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("pptrain-fitting-{}.json", ::getpid());
  std::ofstream(path) << write_plan(plan);
  gpt.config.parallelism.plan = path;
  std::string complaint;
  try {
    given_plan(gpt.config, instance);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::no_feasible_plan);
    complaint = error.what();
  }
  std::filesystem::remove(path);
  CHECK(complaint.find("the plan does not fit (device 0 (gpu) needs ") != std::string::npos);
}

/// A job that names its plan.
Config job_with_plan() {
  Config config;
  config.source = "job.toml";
  config.parallelism.plan = "plan.json";
  return config;
}

TEST_CASE("a given plan is predicted anew by simulation, without what its search found",
          "[planners]") {
  const Profile profile = two_layers(100.0);
  const Cluster cluster = nodes_of(1, 2);
  Plan plan = uniform_plan({{0, 1}, {1, 2}}, 1, 1, 2, 2, "1f1b");
  plan.planner = "typed";
  plan.device_kinds = {{"w", 7}};
  plan.predicted = Prediction();
  plan.predicted->iteration_seconds = 1e9;
  plan.alternatives = {{"amp", 1.0, true, "", {}}};
  plan.search_candidates = 3;
  plan.search_seconds = 4.0;
  const Plan given = given_plan(plan, job_with_plan(), {profile, cluster, 2});
  CHECK(same_plan(given, plan));
  CHECK(given.planner == "typed");
  CHECK(given.device_kinds == std::vector<KindRun>{{"v", 2}});
  CHECK(given.predicted->basis == PredictionBasis::simulation);
  // Two samples take 2 s of F and 4 s of B and W on each stage; 200 B cross the cut there and back
  // at 1000 B/s and 0.5 s.
  CHECK(given.predicted->iteration_seconds == Approx(2 + 0.7 + 2 + 4 + 0.7 + 4));
  CHECK(given.alternatives.empty());
  CHECK(given.search_candidates == 0);
  CHECK(given.search_seconds == 0.0);
}

TEST_CASE("a given plan for another batch or model is refused", "[planners]") {
  const Profile profile = two_layers(0.0);
  const Cluster cluster = nodes_of(1, 2);
  const auto complaint = [&](const Plan& plan, std::int64_t batch) {
    return complaint_of([&] { given_plan(plan, job_with_plan(), {profile, cluster, batch}); });
  };
  const Plan plan = uniform_plan({{0, 1}, {1, 2}}, 1, 1, 4, 2, "1f1b");
  CHECK(complaint(plan, 4) == "nothing was refused");
  CHECK(complaint(plan, 8) ==
        "plan.json: global_batch_size = 4, but job.toml says 8 (plan and configuration must "
        "agree); make them equal");
  CHECK(
      complaint(uniform_plan({{0, 1}, {1, 3}}, 1, 1, 4, 2, "1f1b"), 4).starts_with("plan.json: "));
  Plan divided = uniform_plan({{0, 2}}, 2, 1, 4, 2, "1f1b");
  divided.context = 2;
  CHECK(complaint(divided, 4).starts_with("plan.json: context = 2, but the job says 1"));
}

TEST_CASE("what may make a given plan fit is suggested", "[planners]") {
  Profile profile = two_layers(0.0);
  for (ProfileLayer& layer : profile.layers) layer.parameters = 1000.0;  // of 16 bytes each
  Cluster cluster = nodes_of(1, 1, 31'999.0);
  const auto complaint = [&]() -> std::string {
    try {
      given_plan(uniform_plan({{0, 2}}, 1, 1, 4, 2, "1f1b"), job_with_plan(),
                 {profile, cluster, 4});
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::no_feasible_plan);
      return error.what();
    }
    return "it fits";
  };
  CHECK_THAT(complaint(), Catch::StartsWith("plan.json: the plan does not fit (device 0 (v) ") &&
                              Catch::EndsWith("; search a plan for this cluster, or use recompute "
                                              "or a higher zero_stage in it"));
  cluster.groups[0].host_link = {1e9, 0.0};
  cluster.finish("made");
  CHECK_THAT(complaint(), Catch::EndsWith("use recompute, a higher zero_stage or offload in it"));
  cluster.device_kinds[0].memory = 32'000.0;
  cluster.finish("made");
  CHECK(complaint() == "it fits");
}

}  // namespace
}  // namespace pptrain
