// Planners whose degrees and micro-batch size are fixed in part.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "planners/reference/check_predicted.hpp"
#include "planners/reference/choices.hpp"
#include "planners/reference/divisions.hpp"
#include "planners/reference/run_planner.hpp"

namespace pptrain::reference {
namespace {

constexpr int num_instances = 1000;

Restrictions random_restrictions(const RandomInstance& instance, Choices& choices) {
  Restrictions restrictions;
  if (choices.one_in(3)) restrictions.data = choices.between(1, instance.cluster.num_devices());
  if (choices.one_in(3)) restrictions.pipeline = choices.between(1, 3);
  if (choices.one_in(3)) restrictions.tensor = choices.between(1, 2);
  if (choices.one_in(3))
    restrictions.micro_batch_size = choices.of(divisors(instance.global_batch_size));
  if (choices.one_in(4)) restrictions.schedule = "gpipe";
  if (choices.one_in(4)) restrictions.recompute = Recompute::full;
  if (choices.one_in(4)) restrictions.zero_stage = choices.between(1, 3);
  return restrictions;
}

/// Whether brute force knows what the planner has to find.
bool known(const std::string& planner) {
  return planner == "amp" || planner == "megatron" || planner == "data-parallel";
}

std::optional<Optimum> restricted_optimum(const std::string& planner,
                                          const RandomInstance& instance,
                                          const Restrictions& restrictions) {
  if (planner == "amp") return optimum(instance, visit_amp_space, Form::amp, restrictions);
  if (planner == "megatron") return megatron_optimum(instance, restrictions);
  return optimum(instance, visit_data_parallel_space, Form::amp, restrictions);
}

void check_against(const std::optional<Optimum>& best, const Run& run) {
  REQUIRE(best.has_value() == run.plan.has_value());
  if (best)
    REQUIRE(std::abs(run.plan->predicted->estimate_seconds - best->seconds) <=
            1e-9 * best->seconds);
}

TEST_CASE("plans obey what is fixed, and auto is best among them", "[restrictions]") {
  std::map<std::string, int> found;
  for (int seed = 0; seed < num_instances; ++seed) {
    const RandomInstance instance = random_instance(seed);
    Choices choices(seed);
    const Restrictions restrictions = random_restrictions(instance, choices);
    double best = std::numeric_limits<double>::infinity();
    double best_of_auto = std::numeric_limits<double>::infinity();
    for (const auto& planner : planners()) {
      const std::string name = planner->name();
      const Run run = run_planner(name, instance, restrictions);
      CAPTURE(seed, name, run.message);
      if (known(name)) {
        check_against(restricted_optimum(name, instance, restrictions),
                      run_by_forms(name, instance, restrictions));
      }
      if (!run.plan) continue;
      CAPTURE(write_plan(*run.plan));
      REQUIRE(obeys(*run.plan, restrictions));
      check_predicted(instance, *run.plan);
      best = std::min(best, run.plan->predicted->iteration_seconds);
      if (name == "auto") best_of_auto = run.plan->predicted->iteration_seconds;
      ++found[name];
    }
    CAPTURE(seed);
    REQUIRE(best_of_auto <= best * (1.0 + 1e-12));
  }
  for (const auto& planner : planners()) {
    CAPTURE(planner->name());
    CHECK(found[planner->name()] > num_instances / 20);
  }
}

TEST_CASE("exhaustive finds the optimum that is left", "[restrictions]") {
  int found = 0;
  for (int seed = 0; seed < num_instances; ++seed) {
    const RandomInstance instance = random_instance(seed, {5, 4, {1, 2, 4, 6, 8}});
    Choices choices(seed);
    const Restrictions restrictions = random_restrictions(instance, choices);
    const Run run = run_by_forms("exhaustive", instance, restrictions);
    CAPTURE(seed, run.message);
    const auto best = optimum(instance, visit_exhaustive_space, Form::amp, restrictions);
    check_against(best, run);
    if (best) ++found;
  }
  CHECK(found > num_instances / 4);
}

/// With few micro-batches a pipeline of fewer stages is faster, but not one of those asked for.
TEST_CASE("exhaustive finds the best pipeline of so many stages", "[restrictions]") {
  int found = 0;
  for (int seed = 0; seed < 500; ++seed) {
    const RandomInstance instance = random_instance(seed, {5, 4, {1, 2}});
    Restrictions restrictions;
    restrictions.micro_batch_size = instance.global_batch_size;
    restrictions.recompute = Recompute::none;
    restrictions.zero_stage = 0;
    for (int stages = 2;
         stages <= std::min(instance.cluster.num_devices(), instance.profile.num_layers());
         ++stages) {
      restrictions.pipeline = stages;
      const Run run = run_by_forms("exhaustive", instance, restrictions);
      CAPTURE(seed, stages, run.message);
      const auto best = optimum(instance, visit_exhaustive_space, Form::amp, restrictions);
      check_against(best, run);
      if (best) ++found;
    }
  }
  CHECK(found > 300);
}

}  // namespace
}  // namespace pptrain::reference
