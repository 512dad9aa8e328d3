// The planners of uniform grids against brute force over their spaces: time, chosen plan with the
// tie rule, and whether there is a plan at all.

#include <cmath>

#include "planners/reference/cost.hpp"
#include "planners/reference/spaces.hpp"
#include "planners/search.hpp"
#include "support/catch.hpp"

namespace pptrain::reference {
namespace {

constexpr int num_instances = 2000;

bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); }

/// The layers of each stage.
std::vector<std::vector<Interval>> layers_of(const Plan& plan) {
  std::vector<std::vector<Interval>> layers;
  for (const Stage& stage : plan.stages) layers.push_back(stage.layers);
  return layers;
}

/// How many plans were compared, and how many instances had none.
struct Count {
  int found = 0;
  int infeasible = 0;
};

void check_equal(const std::string& planner, const RandomInstance& instance,
                 const std::optional<Optimum>& best, Count& count) {
  const SearchResult result = search_plan(planner, instance.view(), {}, "test");
  REQUIRE(result.plan.has_value() == best.has_value());
  if (!best) {
    REQUIRE_FALSE(result.why_not.empty());
    ++count.infeasible;
    return;
  }
  const Plan& plan = *result.plan;
  CAPTURE(write_plan(plan), write_plan(best->plan));
  REQUIRE(near(plan.predicted->estimate_seconds, best->seconds));
  REQUIRE(plan.num_stages() == best->plan.num_stages());
  REQUIRE(plan.stages[0].replicas == best->plan.stages[0].replicas);
  REQUIRE(plan.stages[0].tensor_parallel == best->plan.stages[0].tensor_parallel);
  REQUIRE(plan.micro_batch_size == best->plan.micro_batch_size);
  REQUIRE(layers_of(plan) == layers_of(best->plan));
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    REQUIRE(plan.stages[i].devices == best->plan.stages[i].devices);
    REQUIRE(plan.stages[i].samples == best->plan.stages[i].samples);
  }
  ++count.found;
}

RandomInstance with_ample_memory(RandomInstance instance) {
  for (DeviceKind& kind : instance.cluster.device_kinds) kind.memory = 1e30;
  instance.cluster.finish("test");
  return instance;
}

TEST_CASE("amp finds the optimum of its space", "[amp]") {
  Count count;
  int bitten = 0;  // instances that memory takes the best plan or all plans from
  for (int seed = 0; seed < num_instances; ++seed) {
    CAPTURE(seed);
    const RandomInstance instance = random_instance(seed);
    const auto best = optimum(instance, visit_amp_space, Form::amp);
    check_equal("amp", instance, best, count);
    const auto without_caps = optimum(with_ample_memory(instance), visit_amp_space, Form::amp);
    if (without_caps && (!best || best->seconds > without_caps->seconds)) ++bitten;
  }
  CHECK(bitten > num_instances / 3);
  CHECK(count.found > num_instances / 2);
  CHECK(count.infeasible > num_instances / 20);
}

TEST_CASE("megatron takes what it is defined to take", "[uniform]") {
  Count count;
  for (int seed = 0; seed < num_instances; ++seed) {
    CAPTURE(seed);
    const RandomInstance instance = random_instance(seed);
    check_equal("megatron", instance, megatron_optimum(instance), count);
  }
  CHECK(count.found > num_instances / 2);
  CHECK(count.infeasible > num_instances / 20);
}

TEST_CASE("data-parallel takes the best micro-batch size", "[uniform]") {
  Count count;
  for (int seed = 0; seed < num_instances; ++seed) {
    CAPTURE(seed);
    const RandomInstance instance = random_instance(seed);
    check_equal("data-parallel", instance, optimum(instance, visit_data_parallel_space, Form::amp),
                count);
  }
  CHECK(count.found > num_instances / 4);
  CHECK(count.infeasible > num_instances / 20);
}

}  // namespace
}  // namespace pptrain::reference
