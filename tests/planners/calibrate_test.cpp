#include "planners/calibrate.hpp"

#include "planners/judge/simulated_plan.hpp"
#include "planners/large_instances.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

struct Planned {
  Profile profile = blocks(8, 0.5);
  Cluster cluster = mixed_nodes(2, 8);
  Plan plan = uniform_plan(even_division(8, 4), 2, 1, 16, 2, "1f1b");

  double seconds() const {
    const Instance instance = {profile, cluster, 16};
    return PlanSimulator(instance).of(plan).iteration_seconds;
  }
  Calibration by(double measured) const {
    return calibrate({profile, cluster, 16}, plan, measured, "run");
  }
};

TEST_CASE("times that are scaled by a measured iteration predict it", "[calibrate]") {
  Planned planned;
  const double before = planned.seconds();
  for (const double times : {0.3, 1.0, 1.7, 6.0}) {
    Planned scaled;
    const Calibration found = planned.by(times * before);
    CHECK(found.predicted_seconds == before);
    scale_times(scaled.profile, found.factor);
    CHECK(scaled.seconds() == Approx(times * before).epsilon(1e-5));
  }
  CHECK(planned.by(before).factor == Approx(1.0).epsilon(1e-5));
}

TEST_CASE("a measurement of something else is refused", "[calibrate]") {
  const Planned planned;
  const double before = planned.seconds();
  for (const double times : {0.01, 11.0}) {
    CHECK(complaint_of([&] { planned.by(times * before); }).starts_with("run: an iteration took "));
  }
}

}  // namespace
}  // namespace pptrain
