// Restrictions of searches for another trainer.
#include <memory>

#include "planners/ask/restrictions.hpp"
#include "planners/everything_free.hpp"
#include "planners/made_rule.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

/// A trainer of like stages that runs next to nothing.
std::shared_ptr<MadeRule> poor_rule() {
  const auto rule = std::make_shared<MadeRule>();
  TrainerKind& kind = rule->kind;
  kind.alike_stages = true;
  kind.schedules = {"gpipe"};
  kind.node_groups = kind.offload = kind.sent_rows = false;
  kind.zero_alone = {0, 1};
  kind.why_zero = "it divides moments alone";
  return rule;
}

TEST_CASE("what is free is restricted to what a trainer has", "[planners]") {
  const auto rule = poor_rule();
  const Restrictions poor = as_trainer_runs(test::everything_free(), rule, "x.toml");
  CHECK(poor.uniform);
  CHECK(poor.schedule == "gpipe");
  CHECK(poor.virtual_stages == 1);
  CHECK(poor.zero_group == ZeroGroup::replicas);
  CHECK(poor.offload == AutoFlag(false));
  CHECK(poor.offload_activations == AutoFlag(false));
  CHECK(poor.experts == Experts::columns);
  CHECK(poor.rule == rule);
  CHECK_FALSE(poor.recompute);  // which plans the rule allows says the rest
  CHECK_FALSE(poor.zero_stage);

  const auto rich_rule = std::make_shared<MadeRule>();
  const Restrictions rich = as_trainer_runs(test::everything_free(), rich_rule, "x.toml");
  CHECK_FALSE(rich.uniform);
  CHECK(rich.schedule == "auto");
  CHECK_FALSE(rich.virtual_stages);
  CHECK_FALSE(rich.zero_group);
  CHECK_FALSE(rich.offload);
  CHECK(rich.offload_activations == AutoFlag(false));
  CHECK(rich.experts == Experts::chosen);
}

TEST_CASE("a model that a trainer runs in one stage alone is planned in one", "[planners]") {
  const auto rule = std::make_shared<MadeRule>();
  rule->runs_pipelines = false;
  rule->kind.why_no_tied_stages = "weights are tied";
  CHECK(as_trainer_runs(test::everything_free(), rule, "x.toml").pipeline == 1);
  Restrictions fixed;
  fixed.pipeline = 2;
  CHECK(
      complaint_of([&] { as_trainer_runs(fixed, rule, "x.toml"); }) ==
      "x.toml: pipeline = 2 with like = \"made\" (weights are tied); leave pipeline out, or like");
  fixed.pipeline = 1;
  CHECK(as_trainer_runs(fixed, rule, "x.toml").pipeline == 1);
  rule->runs_pipelines = true;
  CHECK_FALSE(as_trainer_runs(test::everything_free(), rule, "x.toml").pipeline);
}

TEST_CASE("a key that is fixed to what a trainer has not is refused at its place", "[planners]") {
  Restrictions fixed;
  fixed.zero_stage = 2;
  CHECK(complaint_of([&] { as_trainer_runs(fixed, poor_rule(), "x.toml"); }) ==
        "x.toml: zero_stage = 2 with like = \"made\" (it divides moments alone); leave zero_stage "
        "out, or like");
  fixed.places["zero_stage"] = "x.toml:7";
  CHECK(complaint_of([&] {
          as_trainer_runs(fixed, poor_rule(), "x.toml");
        }).starts_with("x.toml:7: zero_stage = 2"));
  fixed.zero_stage = 1;
  fixed.offload_activations = true;
  CHECK(complaint_of([&] { as_trainer_runs(fixed, poor_rule(), "x.toml"); }) ==
        "x.toml: offload_activations = true with like = \"made\" (Made is not told to); leave "
        "offload_activations out, or like");
  fixed.offload_activations = false;
  fixed.schedule = "gpipe";
  CHECK(as_trainer_runs(fixed, poor_rule(), "x.toml").zero_stage == 1);
}

}  // namespace
}  // namespace pptrain
