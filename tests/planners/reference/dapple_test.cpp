// `dapple` against brute force: its search is exact where no pivot hangs on rounding.

#include <cmath>

#include "planners/reference/choices.hpp"
#include "planners/reference/divisions.hpp"
#include "planners/reference/run_planner.hpp"
#include "support/catch.hpp"

namespace pptrain::reference {
namespace {

/// What `dapple` found beside the optimum of its space.
struct Count {
  int found = 0;
  int exact = 0;
  int infeasible = 0;

  void add(const RandomInstance& instance, const Restrictions& restrictions) {
    const Run run = run_planner("dapple", instance, restrictions);
    if (run.ending == Ending::refused) return;
    CAPTURE(run.message);
    const auto best = optimum(instance, visit_dapple_space, Form::dapple, restrictions);
    REQUIRE(run.plan.has_value() == best.has_value());
    if (!best) {
      ++infeasible;
      REQUIRE_FALSE(run.message.empty());
      return;
    }
    ++found;
    CAPTURE(write_plan(*run.plan), write_plan(best->plan));
    const double seconds = run.plan->predicted->estimate_seconds;
    REQUIRE(seconds >= best->seconds * (1.0 - 1e-9));
    if (seconds <= best->seconds * (1.0 + 1e-9)) ++exact;
  }
};

TEST_CASE("dapple finds the optimum of its space", "[dapple]") {
  Count count;
  for (int seed = 2000; seed < 2600; ++seed) {
    CAPTURE(seed);
    count.add(random_instance(seed), {});
  }
  CHECK(count.found > 300);
  CHECK(count.infeasible > 60);
  CHECK(count.exact >= 0.999 * count.found);
}

TEST_CASE("dapple finds the optimum among what is left of its space", "[dapple]") {
  Count count;
  for (int seed = 3000; seed < 4000; ++seed) {
    CAPTURE(seed);
    const RandomInstance instance = random_instance(seed);
    Choices choices(seed);
    Restrictions restrictions;
    if (choices.one_in(3)) restrictions.data = choices.between(1, 2);
    if (choices.one_in(2)) restrictions.pipeline = choices.between(1, 4);
    if (choices.one_in(3))
      restrictions.micro_batch_size = choices.of(divisors(instance.global_batch_size));
    count.add(instance, restrictions);
  }
  CHECK(count.found > 200);
  CHECK(count.exact >= 0.999 * count.found);
}

}  // namespace
}  // namespace pptrain::reference
