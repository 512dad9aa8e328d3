// Planners whose degrees and micro-batch size are fixed in part.

#include <cmath>
#include <map>

#include "planners/reference/check_predicted.hpp"
#include "planners/reference/choices.hpp"
#include "planners/reference/divisions.hpp"
#include "planners/reference/run_planner.hpp"

namespace pptrain::reference {
namespace {

constexpr int num_instances = 2000;

Restrictions random_restrictions(const RandomInstance& instance, Choices& choices) {
  Restrictions restrictions;
  if (choices.one_in(3)) restrictions.data = choices.between(1, instance.cluster.num_devices());
  if (choices.one_in(3)) restrictions.pipeline = choices.between(1, 3);
  if (choices.one_in(3)) restrictions.tensor = choices.between(1, 2);
  if (choices.one_in(3)) restrictions.micro_batch_size = choices.of(divisors(instance.global_batch_size));
  if (choices.one_in(4)) restrictions.schedule = "gpipe";
  return restrictions;
}

/// What brute force finds for the planners that it knows.
std::optional<Optimum> restricted_optimum(const std::string& planner, const RandomInstance& instance,
                                          const Restrictions& restrictions) {
  if (planner == "amp") return optimum(instance, visit_amp_space, Form::amp, restrictions);
  if (planner == "megatron") return megatron_optimum(instance, restrictions);
  return optimum(instance, visit_data_parallel_space, Form::amp, restrictions);
}

TEST_CASE("plans obey the degrees and micro-batch sizes that are fixed", "[restrictions]") {
  std::map<std::string, int> found;
  for (int seed = 0; seed < num_instances; ++seed) {
    const RandomInstance instance = random_instance(seed);
    Choices choices(seed);
    const Restrictions restrictions = random_restrictions(instance, choices);
    for (const auto& planner : planners()) {
      const std::string name = planner->name();
      CAPTURE(seed, name);
      const Run run = run_planner(name, instance, restrictions);
      CAPTURE(run.message);
      if (run.plan) {
        CAPTURE(write_plan(*run.plan));
        REQUIRE(obeys(*run.plan, restrictions));
        check_predicted(instance, *run.plan);
        ++found[name];
      }
      if (name != "amp" && name != "megatron" && name != "data-parallel") continue;
      const auto best = restricted_optimum(name, instance, restrictions);
      REQUIRE(best.has_value() == run.plan.has_value());
      if (best) REQUIRE(std::abs(run.plan->predicted->estimate_seconds - best->seconds) <= 1e-9 * best->seconds);
    }
  }
  for (const auto& planner : planners()) {
    CAPTURE(planner->name());
    CHECK(found[planner->name()] > num_instances / 20);
  }
}

}  // namespace
}  // namespace pptrain::reference
