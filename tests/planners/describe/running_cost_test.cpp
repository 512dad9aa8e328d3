#include "planners/describe/running_cost.hpp"

#include "planners/priced_nodes.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("cost, hours, energy and goodput of a plan follow from its nodes", "[planners]") {
  const Profile profile = profile_of_two_kinds();
  Cluster cluster = priced(10.0, 1.0);
  cluster.groups[0].power = 500.0;
  cluster.groups[1].power = 100.0;
  for (NodeGroup& group : cluster.groups) group.mtbf = 2e6;
  const Instance instance = {profile, cluster, 8};
  Plan plan = uniform_plan({{0, 2}, {2, 4}}, 1, 1, 8, 4, "1f1b");
  plan.predicted = Prediction();
  plan.predicted->iteration_seconds = 100.0;
  predict_cost(instance, {10.0, 8e6, 50.0, 200.0}, plan);
  const FailurePrediction& failures = *plan.predicted->failures;
  CHECK(failures.mtbf_seconds == Approx(1e6));  // of two nodes
  // Young: sqrt(2 x 50 x 10^6) = 10,000 s; Daly: x (1 + 0.005 / 3 + 2.5e-5 / 9) - 50 = 9966.7 s,
  // 100 steps.
  CHECK(failures.interval_steps == 100);
  CHECK(failures.goodput == Approx(0.9900).epsilon(1e-3));
  const CostPrediction& cost = *plan.predicted->cost;
  CHECK(cost.nodes == 2);
  CHECK(*cost.money_per_hour == 11.0);
  CHECK(*cost.money_per_step == Approx(11.0 * 100.0 / 3600.0 / failures.goodput));
  CHECK(*cost.money_per_billion_tokens == Approx(*cost.money_per_step * 1e9 / 80.0));
  CHECK(cost.training->seconds == Approx(8e6 / 80.0 * 100.0 / failures.goodput));
  CHECK(cost.training->node_hours == Approx(2.0 * cost.training->seconds / 3600.0));
  CHECK(*cost.training->money == Approx(11.0 * cost.training->seconds / 3600.0));
  CHECK(*cost.training->kilowatt_hours == Approx(0.6 * cost.training->seconds / 3600.0));
}

TEST_CASE("without a checkpoint's time the bytes of the state and the storage say it",
          "[planners]") {
  Profile profile = profile_of_two_kinds();
  for (ProfileLayer& layer : profile.layers) layer.parameters = 1e9;
  profile.bytes_per_parameter = {2.0, 4.0, 12.0};
  CHECK(checkpoint_bytes(profile) == 4e9 * 14.0);
  Cluster cluster = priced(10.0, 1.0);
  for (NodeGroup& group : cluster.groups) group.mtbf = 2e6;
  cluster.storage_bandwidth = 28e9;
  const Instance instance = {profile, cluster, 8};
  Plan plan = uniform_plan({{0, 4}}, 1, 1, 8, 4, "1f1b");
  plan.predicted = Prediction();
  plan.predicted->iteration_seconds = 100.0;
  predict_cost(instance, {}, plan);
  CHECK(plan.predicted->failures->checkpoint_seconds == Approx(2.0));
  CHECK(plan.predicted->failures->restart_seconds == Approx(2.0));
  CHECK(plan.predicted->cost->nodes == 1);
  CHECK_FALSE(plan.predicted->cost->money_per_billion_tokens.has_value());
}

}  // namespace
}  // namespace pptrain
