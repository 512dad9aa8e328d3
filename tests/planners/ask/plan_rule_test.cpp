// Searches for a trainer keep to each thing that its rule says.
#include "planners/ask/plan_rule.hpp"

#include <set>

#include "cost/instances.hpp"
#include "planners/everything_free.hpp"
#include "planners/made_rule.hpp"
#include "planners/search.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// The plan of six equal layers on two devices, eight samples a step.
Plan searched(std::shared_ptr<const PlanRule> rule, int pipeline) {
  Profile profile;
  for (int l = 0; l < 6; ++l) profile.layers.push_back(layer(fmt::format("{}", l), 1, 1, 1));
  add_degree(profile, 2);
  const Cluster cluster = nodes_of(1, 2);
  Restrictions restrictions = as_trainer_runs(test::everything_free(), std::move(rule), "made");
  restrictions.pipeline = pipeline;
  const SearchResult found = search_plan("auto", {profile, cluster, 8}, restrictions, "made");
  REQUIRE(found.plan);
  return *found.plan;
}

TEST_CASE("chunks begin where the rule lets them", "[planners]") {
  const auto begins = [](const Plan& plan) {
    std::set<std::int64_t> layers;
    for (const Stage& stage : plan.stages) {
      for (const Interval& chunk : stage.layers) layers.insert(chunk.begin);
    }
    return layers;
  };
  const auto rule = std::make_shared<MadeRule>();
  CHECK(begins(searched(rule, 2)) != std::set<std::int64_t>{0, 5});
  rule->layers_of_block = 5;
  CHECK(begins(searched(rule, 2)) == std::set<std::int64_t>{0, 5});
}

TEST_CASE("layers are divided over no more members than the rule lets", "[planners]") {
  const auto rule = std::make_shared<MadeRule>();
  CHECK(searched(rule, 1).stages[0].tensor_parallel == 2);
  rule->most_members = 1;
  CHECK(searched(rule, 1).stages[0].tensor_parallel == 1);
}

TEST_CASE("plans that the rule does not allow are left out", "[planners]") {
  const auto rule = std::make_shared<MadeRule>();
  rule->most_members = 1;
  CHECK(searched(rule, 1).micro_batch_size < 4);
  rule->least_samples = 4;
  CHECK(searched(rule, 1).micro_batch_size >= 4);
}

}  // namespace
}  // namespace pptrain
