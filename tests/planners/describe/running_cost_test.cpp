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

TEST_CASE("a question is what the configuration says of checkpoints and the objective",
          "[planners]") {
  Config config;
  config.planner.checkpoint_time = 60.0;
  config.planner.restart_time = 300.0;
  config.planner.objective = ObjectiveKind::cost;
  ModelWork work;
  work.tokens_per_sample = 10.0;
  const CostQuestion question = cost_question(config, work, 8e9);
  CHECK(question.tokens_per_sample == 10.0);
  CHECK(question.training_tokens == 8e9);
  CHECK(question.checkpoint_seconds == 60.0);
  CHECK(question.restart_seconds == 300.0);
  CHECK(question.objective == ObjectiveKind::cost);
}

TEST_CASE("a node is used with the first of its devices that a plan has", "[planners]") {
  Plan plan = uniform_plan({{0, 2}, {2, 4}}, 1, 1, 8, 4, "1f1b");
  plan.stages[1].devices = {{DeviceId(5)}};
  CHECK(used_nodes(nodes_of(3, 2), plan) == std::vector<bool>{true, false, true});
}

TEST_CASE("what nobody asks of money, power and failures is not predicted", "[planners]") {
  const Profile profile = profile_of_two_kinds();
  Cluster cluster = nodes_of(1, 1);
  const Instance instance = {profile, cluster, 8};
  Plan plan = uniform_plan({{0, 4}}, 1, 1, 8, 4, "1f1b");
  plan.predicted = Prediction();
  plan.predicted->iteration_seconds = 90.0;
  plan.predicted->cost = CostPrediction();  // of another cluster, before
  plan.predicted->failures = FailurePrediction();
  predict_cost(instance, {10.0, {}, 50.0, {}}, plan);
  CHECK_FALSE(plan.predicted->cost);
  CHECK_FALSE(plan.predicted->failures);
  // 80 tokens in 90 s are 3200 an hour.
  predict_cost(instance, {10.0, 6400.0, 50.0, {}}, plan);
  CHECK(plan.predicted->cost->training->seconds == Approx(7200.0));
  CHECK(plan.predicted->cost->training->node_hours == Approx(2.0));
  CHECK_FALSE(plan.predicted->cost->training->money);
  CHECK_FALSE(plan.predicted->cost->training->kilowatt_hours);
  // How often nodes fail without what a checkpoint takes lengthens nothing.
  cluster.groups[0].mtbf = 1e6;
  predict_cost(instance, {10.0, 6400.0, {}, {}}, plan);
  CHECK(plan.predicted->failures->mtbf_seconds == Approx(1e6));
  CHECK(plan.predicted->failures->interval_steps == 0);
  CHECK(plan.predicted->cost->training->seconds == Approx(7200.0));
}

TEST_CASE("cost, failures and a training are told in a line each", "[planners]") {
  CostPrediction cost;
  cost.nodes = 1;
  cost.currency = "USD";
  CHECK(cost_text(cost).empty());
  cost.money_per_hour = 10.0;
  cost.money_per_step = 0.25;
  CHECK(cost_text(cost) == "10 USD/h for 1 node, 0.25 USD a step");
  cost.nodes = 2;
  cost.money_per_billion_tokens = 1250.0;
  cost.egress_per_step = 0.5;
  CHECK(cost_text(cost) ==
        "10 USD/h for 2 nodes, 1250 USD per 10^9 tokens, 0.5 USD a step for what leaves sites");

  FailurePrediction failures;
  failures.mtbf_seconds = 12.0 * 3600.0;
  CHECK(failures_text(failures) ==
        "one in 12 h; storage_bandwidth of the cluster or [planner] checkpoint_time would say "
        "what they cost");
  failures.checkpoint_seconds = 50.0;
  failures.interval_seconds = 600.0;
  failures.interval_steps = 6;
  failures.goodput = 0.99;
  CHECK(failures_text(failures) ==
        "one in 12 h; goodput 99 % with a checkpoint of 50 s every 600 s (6 steps)");

  CHECK(days_text(12.3 * 86400.0) == "12.3 days");
  cost.training = TrainingTotals{1e12, 12.3 * 86400.0, 590.0, {}, {}};
  CHECK(training_text(cost, true) == "12.3 days with failures, 590 node-hours");
  cost.training->money = 58000.0;
  cost.training->kilowatt_hours = 3300.0;
  CHECK(training_text(cost, false) == "12.3 days, 590 node-hours, 58000 USD, 3.3 MWh");
}

}  // namespace
}  // namespace pptrain
