#include "planners/divide/polish.hpp"

#include "cost/instances.hpp"
#include "planners/everything_free.hpp"
#include "planners/made_rule.hpp"
#include "planners/search.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

using namespace pptrain;

namespace {

Profile six_layers() {
  Profile profile;
  for (int l = 0; l < 6; ++l) {
    profile.layers.push_back(layer(fmt::format("l{}", l), 1, 1, 1));
    profile.layers.back().output_bytes = 10;
  }
  add_kind(profile, "t", 3.0);
  return profile;
}

}  // namespace

TEST_CASE("polishing shifts layers to the balance", "[planners]") {
  const Profile profile = six_layers();
  const Cluster cluster = nodes_of(2, 1);
  const Instance instance = {profile, cluster, 8};
  const Restrictions none;
  const SearchSpace space = {instance, none};
  const Plan lopsided = uniform_plan({{0, 1}, {1, 6}}, 1, 1, 8, 1, "1f1b");
  const Outcome outcome = polish(space, lopsided);
  CHECK(outcome.plan->stages[0].layers == std::vector<Interval>{{0, 3}});
  CHECK(outcome.plan->predicted->iteration_seconds < iteration_seconds(instance, lopsided));
}

TEST_CASE("polishing moves samples from slow replicas to fast ones", "[planners]") {
  const Profile profile = six_layers();
  Cluster cluster = nodes_of(1, 1);
  add_slow_node(cluster, 1);
  const Instance instance = {profile, cluster, 8};
  const Restrictions none;
  const Outcome outcome = polish({instance, none}, uniform_plan({{0, 6}}, 2, 1, 8, 8, "1f1b"));
  // Three times as fast: six of eight samples.
  CHECK(outcome.plan->stages[0].samples == std::vector<Interval>{{0, 6}, {6, 8}});
}

TEST_CASE("polishing keeps to the memory", "[planners]") {
  Profile profile = six_layers();
  for (ProfileLayer& l : profile.layers) l.parameters = 10;
  const Cluster cluster = nodes_of(2, 1, 4 * 10 * 16.0);  // four layers at most
  const Instance instance = {profile, cluster, 8};
  const Restrictions none;
  Plan plan = uniform_plan({{0, 2}, {2, 6}}, 1, 1, 8, 1, "1f1b");
  REQUIRE(why_not_fit(instance, plan).empty());
  const Outcome outcome = polish({instance, none}, plan);
  CHECK(why_not_fit(instance, *outcome.plan).empty());
  CHECK(outcome.plan->stages[0].layers == std::vector<Interval>{{0, 3}});
}

TEST_CASE("auto leaves slow devices out where that is faster", "[planners]") {
  Profile profile = six_layers();
  for (ProfileLayer& l : profile.layers) l.output_bytes = l.parameters = 1000;
  Cluster cluster = nodes_of(1, 1);
  add_slow_node(cluster, 1);
  const SearchResult result = search_plan("auto", {profile, cluster, 2}, {}, "x");
  REQUIRE(result.plan.has_value());
  CHECK(result.plan->num_devices() == 1);
  CHECK(result.plan->stages[0].devices[0][0] == DeviceId(0));
}

TEST_CASE("a search without time left gives the best so far and says so", "[planners]") {
  const Profile profile = six_layers();
  const Cluster cluster = nodes_of(4, 4);
  const SearchResult ended = search_plan("auto", {profile, cluster, 64}, {}, "x", Stop(1e-9));
  if (ended.plan) {
    CHECK_FALSE(ended.plan->search_complete);
    validate_plan(*ended.plan, 6, 16, "plan");
  } else {
    CHECK(ended.why_not.find("ended") != std::string::npos);
  }
  Restrictions thorough;
  thorough.effort = Effort::thorough;
  CHECK(
      search_plan("auto", {profile, cluster, 64}, thorough, "x", Stop(1e6)).plan->search_complete);
}

TEST_CASE("what is offloaded is chosen where nobody says anything, unlike in papers",
          "[planners]") {
  Profile profile = six_layers();
  for (ProfileLayer& l : profile.layers) l.stored_bytes = 50;
  Cluster cluster = nodes_of(1, 1, 299);
  const Instance instance = {profile, cluster, 2};
  const Restrictions free = test::everything_free();
  Restrictions without = free;
  without.offload = without.offload_activations = false;
  const auto seconds = [&](const Restrictions& restrictions) {
    return search_plan("auto", instance, restrictions, "x").plan->predicted->iteration_seconds;
  };
  CHECK(seconds(free) == seconds(without));  // there is nothing to offload to
  cluster.groups[0].host_link = {1e6, 0.0};
  cluster.finish("made");
  const Plan plan = *search_plan("auto", instance, free, "x").plan;
  CHECK(plan.stages[0].offload_activations);
  CHECK(plan.stages[0].recompute == Recompute::none);
  CHECK(plan.predicted->iteration_seconds < 0.9 * seconds(without));  // which computes F twice
  CHECK_FALSE(search_plan("amp", instance, free, "x").plan.has_value());
}

TEST_CASE("optimizer state is offloaded where nothing else fits, and only on request",
          "[planners]") {
  Profile profile = six_layers();
  for (ProfileLayer& l : profile.layers) l.parameters = 10;
  Cluster cluster = nodes_of(1, 1, 6 * 10 * 12.0);  // 8 bytes of 16 per parameter are the
                                                    // optimizer's
  const Instance instance = {profile, cluster, 2};
  Restrictions offload;
  offload.offload = true;
  const auto advised = [&] {
    return search_plan("auto", instance, {}, "x").why_not.ends_with(", or offload = true");
  };
  CHECK_FALSE(search_plan("auto", instance, {}, "x").plan.has_value());
  CHECK_FALSE(advised());
  CHECK(complaint_of([&] { search_plan("auto", instance, offload, "x"); }).find("no host_link") !=
        std::string::npos);
  cluster.groups[0].host_link = {100.0, 0.0};
  cluster.finish("made");
  CHECK(advised());
  const auto trainer = std::make_shared<MadeRule>();
  trainer->kind.offload = false;
  Restrictions like;
  like.rule = trainer;
  like.offload = false;
  CHECK(search_plan("auto", instance, like, "x").why_not.find("offload") == std::string::npos);
  const SearchResult result = search_plan("auto", instance, offload, "x");
  REQUIRE(result.plan.has_value());
  CHECK(result.plan->stages[0].offload);
  // 60 parameters x 8 bytes out and in again at 100 B/s.
  CHECK(result.plan->predicted->iteration_seconds ==
        Approx(result.plan->predicted->estimates.at("amp") + 2 * 60 * 8 / 100.0));
  cluster.device_kinds[0].memory = 6 * 10 * 7.0;  // less than weights and gradients
  CHECK_FALSE(search_plan("auto", instance, offload, "x").plan.has_value());
  CHECK_FALSE(advised());
}

TEST_CASE("activations are offloaded where nothing else fits, and only on request", "[planners]") {
  Profile profile = six_layers();
  for (ProfileLayer& l : profile.layers) l.stored_bytes = 50;
  Cluster cluster = nodes_of(1, 1, 299);
  const Instance instance = {profile, cluster, 2};
  Restrictions offload;
  offload.offload_activations = true;
  CHECK_FALSE(search_plan("auto", instance, {}, "x").plan.has_value());
  CHECK(complaint_of([&] { search_plan("auto", instance, offload, "x"); }).find("no host_link") !=
        std::string::npos);
  for (const double bandwidth : {1e6, 10.0}) {
    cluster.groups[0].host_link = {bandwidth, 0.0};
    cluster.finish("made");
    const SearchResult result = search_plan("auto", instance, offload, "x");
    REQUIRE(result.plan.has_value());
    CHECK(result.plan->stages[0].offload_activations);
    CHECK_FALSE(result.plan->stages[0].offload);
    CHECK(result.plan->predicted->peak_bytes[0] <= 299.0);
    // There and back, 300 bytes a sample, where that takes longer than the passes.
    const double amp = result.plan->predicted->estimates.at("amp");
    const double moving = 2 * 2 * 300 / bandwidth;
    CHECK(result.plan->predicted->iteration_seconds >= std::max(amp, moving) * (1 - 1e-9));
    CHECK(result.plan->predicted->iteration_seconds <= amp + moving);
  }
}
