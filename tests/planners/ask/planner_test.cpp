#include "planners/ask/planner.hpp"

#include "cost/instances.hpp"
#include "planners/judge/simulated_plan.hpp"
#include "planners/made_rule.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// Accepts plans of at least so many stages, and counts how often it is asked.
struct CountingCheck : PlanCheck {
  PlanSimulator own;
  int least_stages;
  int asked = 0;

  CountingCheck(const Instance& instance, int stages) : own(instance), least_stages(stages) {}
  bool accepts(const Plan& plan) override {
    ++asked;
    return plan.num_stages() >= least_stages;
  }
  PlanSimulator& simulator() override { return own; }
};

TEST_CASE("rules refuse uneven grids, and what a trainer does not run, where only others are asked",
          "[planners]") {
  const Profile profile = two_layers(0.0);
  const Cluster cluster = nodes_of(1, 4);
  const Instance instance = {profile, cluster, 6};
  Plan even = uniform_plan({{0, 2}}, 2, 1, 6, 6, "1f1b");
  Plan uneven = even;
  uneven.stages[0].samples = {{0, 2}, {2, 6}};
  Restrictions restrictions;
  const SearchSpace space = {instance, restrictions};
  CHECK(obeys_rules(space, uneven));
  restrictions.uniform = true;
  CHECK(obeys_rules(space, even));
  CHECK_FALSE(obeys_rules(space, uneven));
  restrictions.uniform = false;
  const auto rule = std::make_shared<MadeRule>();
  rule->least_samples = 7;
  restrictions.rule = rule;
  CHECK_FALSE(obeys_rules(space, even));
  rule->least_samples = 6;
  CHECK(obeys_rules(space, even));
}

TEST_CASE("a plan is refused by its check, which is not asked of what no rule allows",
          "[planners]") {
  const Profile profile = two_layers(0.0);
  const Cluster cluster = nodes_of(1, 2);
  const Instance instance = {profile, cluster, 4};
  const Plan whole = uniform_plan({{0, 2}}, 2, 1, 4, 4, "1f1b");
  const Plan staged = uniform_plan({{0, 1}, {1, 2}}, 1, 1, 4, 2, "1f1b");
  const auto rule = std::make_shared<MadeRule>();
  Restrictions restrictions;
  restrictions.rule = rule;
  SearchSpace space = {instance, restrictions};
  CHECK_FALSE(is_refused(space, whole));
  CountingCheck check(instance, 2);
  space.check = &check;
  CHECK(is_refused(space, whole));
  CHECK_FALSE(is_refused(space, staged));
  CHECK(check.asked == 2);
  rule->least_samples = 3;
  CHECK(is_refused(space, staged));
  CHECK(check.asked == 2);
}

TEST_CASE("a finished plan has its names, its groups and the form that its planner minimises",
          "[planners]") {
  Profile profile = two_layers(1000.0);
  for (ProfileLayer& layer : profile.layers) layer.parameters = 1000.0;
  profile.model = "made-up";
  const Cluster cluster = nodes_of(2, 2, 1e9);
  const Instance instance = {profile, cluster, 8};
  Restrictions restrictions;
  restrictions.zero_group = ZeroGroup::node;
  const SearchSpace space = {instance, restrictions};
  Plan plan = uniform_plan({{0, 2}}, 4, 1, 8, 8, "1f1b");
  plan.stages[0].zero_stage = 1;
  const Plan finished = finished_plan(space, plan, "amp");
  CHECK(finished.planner == "amp");
  CHECK(finished.model == "made-up");
  CHECK(finished.cluster == "made");
  CHECK(finished.device_kinds == std::vector<KindRun>{{"v", 4}});
  CHECK(finished.stages[0].zero_stage == 1);
  CHECK(finished.stages[0].zero_groups == std::vector<Interval>{{0, 2}, {2, 4}});
  CHECK(finished.predicted->lower_bound_seconds == 0.0);
  const std::map<std::string, double>& forms = finished.predicted->estimates;
  REQUIRE(forms.at("amp") != forms.at("dapple"));  // which overlaps the gradients of one stage
  CHECK(finished.predicted->estimate_seconds == forms.at("amp"));
  CHECK(finished_plan(space, plan, "dapple").predicted->estimate_seconds == forms.at("dapple"));

  plan.stages[0].zero_slices = {{0, 1}, {1, 2}, {2, 3}, {3, 6}};
  const Plan sliced = finished_plan(space, plan, "amp");
  CHECK(sliced.stages[0].zero_groups.empty());
  CHECK(sliced.stages[0].zero_slices == plan.stages[0].zero_slices);
}

TEST_CASE("a space tells whoever listens to its search", "[planners]") {
  const Profile profile = two_layers(0.0);
  const Cluster cluster = nodes_of(1, 1);
  const Instance instance = {profile, cluster, 1};
  const Restrictions restrictions;
  SearchProgress progress;
  SearchSpace space = {instance, restrictions};
  for (SearchProgress* listener : {static_cast<SearchProgress*>(nullptr), &progress}) {
    space.progress = listener;
    space.tell_found(1.0);
    space.tell_judges_anew();
    space.tell_found(7.0);
    space.tell_asks("asking amp");
    space.tell_examined(5);
  }
  CHECK(progress.status().best_seconds == 7.0);
  CHECK(progress.status().planner == "asking amp");
  CHECK(progress.status().candidates == 5);
}

}  // namespace
}  // namespace pptrain
