#include "cost/instances.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// Two layers of equal work; the second all-reduces in tensor-parallel groups.
Profile two_layers() {
  Profile profile;
  profile.layers = {layer("a", 1, 2, 3), layer("b", 2, 2, 2)};
  profile.layers[0].output_bytes = 20;
  profile.layers[0].parameters = 100;
  profile.layers[1].parameters = 200;
  profile.layers[1].tensor_parallel_allreduce_bytes = 100;
  add_degree(profile, 2);
  return profile;
}

TEST_CASE("the parts are what the slowest stage does and waits for", "[cost]") {
  const Profile profile = two_layers();
  const Cluster cluster = nodes_of(2, 2);
  const Instance instance = {profile, cluster, 16};
  const Plan plan = uniform_plan({{0, 1}, {1, 2}}, 1, 2, 16, 2, "1f1b");
  const TimeParts parts = time_parts(instance, plan);
  // Two samples, eight micro-batches. a: 6 each; b: 6, and 200 bytes reduced in F and in B: 0.2 + 1
  // each.
  CHECK(parts.compute == Approx(8 * 6.0));
  CHECK(parts.tensor_communication == Approx(8 * 2.4));
  CHECK(parts.bubble == Approx(6.0));
  CHECK(parts.pipeline_communication == Approx(2.8));  // 2 * (40 / 100 + 1)
  CHECK(parts.gradient_synchronization == 0.0);
  CHECK(parts.parameter_gathers == 0.0);
  CHECK(parts.sum() == Approx(amp_terms(instance, plan).iteration_seconds).epsilon(1e-15));
}

TEST_CASE("with ZeRO stage 3 the weights are gathered before each pass", "[cost]") {
  Profile profile = two_layers();
  profile.bytes_per_parameter.weight = 2;
  const Cluster cluster = nodes_of(1, 4);
  const Instance instance = {profile, cluster, 16};
  Plan plan = uniform_plan({{0, 2}}, 4, 1, 16, 4, "1f1b");
  const double without = amp_terms(instance, plan).stage_seconds[0];
  for (const int stage : {1, 2}) {
    plan.stages[0].zero_stage = stage;
    CHECK(amp_terms(instance, plan).stage_seconds[0] == without);
  }
  plan.stages[0].zero_stage = 3;
  // 3/4 * 600 / 1000 + 3 * 0.5 in F and in B
  CHECK(amp_terms(instance, plan).stage_seconds[0] == Approx(without + 2 * 1.95));
  const TimeParts parts = time_parts(instance, plan);
  CHECK(parts.parameter_gathers == Approx(4 * 3.9));
  CHECK(parts.compute == Approx(4 * 12.0));
  CHECK(parts.gradient_synchronization == Approx(1.8 + 3.0));  // 1200 bytes: 2*3/4 * 1.2 + 6 * 0.5
  CHECK(parts.sum() == Approx(amp_terms(instance, plan).iteration_seconds).epsilon(1e-15));
  const double first = amp_terms(instance, plan).stages[0].forward;
  CHECK(dapple_seconds(instance, plan) ==
        Approx(first + 3 * (without + 3.9) + (without + 3.9 - first) + 3.0 + 0.6));
}

TEST_CASE("offloaded optimizer state leaves the device and crosses the host's link twice",
          "[cost]") {
  const Profile profile = two_layers();
  Cluster cluster = nodes_of(1, 2);
  const Instance instance = {profile, cluster, 4};
  Plan plan = uniform_plan({{0, 2}}, 2, 1, 4, 2, "1f1b");
  const double memory = memory_bytes(instance, plan)[0];
  plan.stages[0].offload = true;
  CHECK(memory_bytes(instance, plan)[0] == memory - 300 * 8.0);
  CHECK_THROWS_WITH(longest_update_seconds(instance, plan), Catch::Contains("no host_link"));
  cluster.groups[0].host_link = {1200.0, 0.25};
  CHECK(longest_update_seconds(instance, plan) == Approx(2 * (2400.0 / 1200 + 0.25)));
  plan.stages[0].zero_stage = 1;  // each replica has half of it
  CHECK(longest_update_seconds(instance, plan) == Approx(2 * (1200.0 / 1200 + 0.25)));
  CHECK(predict(instance, plan).iteration_seconds ==
        Approx(amp_terms(instance, plan).iteration_seconds + 2.5));
}

}  // namespace
}  // namespace pptrain
