// No lower bound exceeds what any plan of the instance takes.

#include <cmath>

#include "cost/cost.hpp"
#include "planners/reference/cost.hpp"
#include "planners/reference/random_plan.hpp"
#include "planners/reference/spaces.hpp"
#include "support/catch.hpp"

namespace pptrain::reference {
namespace {

constexpr int num_instances = 2000;
constexpr double rounding = 1.0 + 1e-12;

TEST_CASE("no bound exceeds the optimum over replicas, degrees and devices", "[bound]") {
  int found = 0;
  for (int seed = 0; seed < num_instances; ++seed) {
    CAPTURE(seed);
    const RandomInstance instance = random_instance(seed, {5, 4, {1, 2, 4, 6, 8}});
    const auto best = optimum(instance, visit_exhaustive_space, Form::amp);
    if (!best) continue;
    REQUIRE(lower_bound_seconds(instance.view()) <= best->seconds * rounding);
    ++found;
  }
  CHECK(found > num_instances / 2);
}

TEST_CASE("no bound exceeds any plan, however it is divided", "[bound]") {
  int fitting = 0;
  for (int seed = 0; seed < num_instances; ++seed) {
    const RandomInstance instance = random_instance(seed);
    const double bound = lower_bound_seconds(instance.view());
    Choices choices(seed);
    for (int p = 0; p < 20; ++p) {
      Plan plan = random_plan(instance, choices);
      if (p % 2 == 1) divide_differently(instance, choices, plan);
      if (!fits(instance.profile, instance.cluster, plan)) continue;
      CAPTURE(seed, p, write_plan(plan));
      const double seconds = amp(instance.profile, instance.cluster, plan);
      REQUIRE(bound <= seconds * rounding);
      ++fitting;
    }
  }
  CHECK(fitting > num_instances * 20 / 4);
}

/// All layers on all devices with one sharding pattern, which need not cost what the profile's
/// all-reduces cost.
Plan sharded_plan(const RandomInstance& instance, TensorPattern pattern) {
  const int devices = instance.cluster.num_devices();
  Plan plan;
  plan.global_batch_size = plan.micro_batch_size = instance.global_batch_size;
  plan.micro_batches = 1;
  Stage stage;
  stage.layers = {{0, instance.profile.num_layers()}};
  stage.tensor_parallel = devices;
  stage.devices.emplace_back();
  for (int d = 0; d < devices; ++d) stage.devices[0].emplace_back(d);
  stage.samples = {{0, plan.micro_batch_size}};
  stage.blocks = {{stage.layers[0], 1, devices, pattern, stage.samples, {}}};
  plan.stages = {stage};
  return plan;
}

TEST_CASE("no bound exceeds plans of layers sharded without all-reduces", "[bound]") {
  int fitting = 0;
  for (int seed = 0; seed < num_instances; ++seed) {
    RandomInstance instance = random_instance(seed);
    if (instance.cluster.num_devices() == 1) continue;
    instance.global_batch_size = 1;
    for (ProfileLayer& layer : instance.profile.layers) layer.output_bytes *= 1e-3;
    for (const TensorPattern pattern : {TensorPattern::sp1, TensorPattern::sp2}) {
      const Plan plan = sharded_plan(instance, pattern);
      if (!costable(instance.profile, instance.cluster, plan)) continue;
      if (!fits(instance.profile, instance.cluster, plan)) continue;
      CAPTURE(seed, pattern_names().name_of(pattern));
      const double seconds = amp(instance.profile, instance.cluster, plan);
      REQUIRE(lower_bound_seconds(instance.view()) <= seconds * rounding);
      ++fitting;
    }
  }
  CHECK(fitting > 200);
}

}  // namespace
}  // namespace pptrain::reference
