// `exhaustive` and `dapple` against brute force over their spaces.

#include <algorithm>
#include <cmath>

#include "planners/reference/run_planner.hpp"
#include "support/catch.hpp"

namespace pptrain::reference {
namespace {

TEST_CASE("exhaustive finds the optimum of its space", "[exhaustive]") {
  if (!has_planner("exhaustive")) return;
  int found = 0;
  for (int seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    const RandomInstance instance = random_instance(seed, {5, 4, {1, 2, 4, 6, 8}});
    const Run run = run_planner("exhaustive", instance);
    const auto best = optimum(instance, visit_exhaustive_space, Form::amp);
    CAPTURE(run.message);
    REQUIRE(run.ending == (best ? Ending::found : Ending::infeasible));
    if (!best) continue;
    CAPTURE(write_plan(*run.plan), write_plan(best->plan));
    REQUIRE(std::abs(run.plan->predicted->estimate_seconds - best->seconds) <= 1e-9 * best->seconds);
    ++found;
  }
  CHECK(found > 500);
}

TEST_CASE("dapple is within five per cent of the optimum of its space nearly always", "[dapple]") {
  if (!has_planner("dapple")) return;
  int found = 0;
  int close = 0;
  for (int seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    const RandomInstance instance = random_instance(seed);
    const auto best = optimum(instance, visit_dapple_space, Form::dapple);
    if (!best) continue;
    ++found;
    const Run run = run_planner("dapple", instance);
    if (run.plan && run.plan->predicted->estimate_seconds <= 1.05 * best->seconds) ++close;
  }
  CHECK(found > 1000);
  CHECK(close >= 0.95 * found);
}

}  // namespace
}  // namespace pptrain::reference
