// Searches around one plan.
#include "planners/frames/local_search.hpp"

#include <algorithm>
#include <utility>

#include "base/in_process.hpp"
#include "base/infinity.hpp"
#include "planners/everything_free.hpp"
#include "planners/frames/leader_race.hpp"
#include "planners/frames/neighbours.hpp"
#include "planners/large_instances.hpp"
#include "planners/search.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// A search around a grid that leaves much to improve.
struct Walk {
  Profile profile = blocks(12, 0.4);
  Cluster cluster = mixed_nodes(2, 2);
  Instance instance = {profile, cluster, 16};
  Restrictions restrictions = test::everything_free();
  SearchSpace space = {instance, restrictions};
  TriedPlan plan = {
      uniform_plan({{0, 2}, {2, 4}, {4, 8}, {8, profile.num_layers()}}, 1, 1, 16, 4, "1f1b"),
      infinity,
      "",
      0.0,
      {}};

  /// Goes on with `work` at a time until nothing helps any more; how often.
  int run(LocalSearch& search, double work) {
    PlanSimulator simulator(instance);
    plan.seconds = simulator.of(plan.plan).iteration_seconds;
    int parts = 0;
    for (; !search.ended() && parts < 100'000; ++parts) search.improve(simulator, {}, plan, work);
    return parts;
  }
};

TEST_CASE("a search that pauses goes the way of one that does not", "[planners]") {
  Walk whole, paused;
  LocalSearch at_once(whole.space), in_parts(paused.space);
  CHECK(whole.run(at_once, 1e12) == 1);
  CHECK(paused.run(in_parts, 2e3) > 10);
  CHECK(at_once.complete());
  CHECK(whole.plan.seconds == paused.plan.seconds);
  REQUIRE(at_once.path().size() == in_parts.path().size());
  CHECK(at_once.path().size() > 3);
  for (std::size_t i = 0; i < at_once.path().size(); ++i)
    CHECK(same_plan(at_once.path()[i], in_parts.path()[i]));
}

TEST_CASE("a race finds what all leaders improved to the end find, with fewer simulations",
          "[planners]") {
  Walk walk;
  PlanSimulator simulator(walk.instance);
  std::vector<TriedPlan> leaders;
  for (const std::int64_t micro_batch : {1, 2, 4, 8, 16}) {
    for (const char* schedule : {"1f1b", "gpipe"}) {
      TriedPlan leader = walk.plan;
      leader.plan = uniform_plan({{0, 2}, {2, 4}, {4, 8}, {8, walk.profile.num_layers()}}, 1, 1, 16,
                                 micro_batch, schedule);
      leader.seconds = simulator.of(leader.plan).iteration_seconds;
      leaders.push_back(leader);
    }
  }
  const auto least = [](const std::vector<TriedPlan>& plans) {
    double seconds = infinity;
    for (const TriedPlan& plan : plans) seconds = std::min(seconds, plan.seconds);
    return seconds;
  };
  std::vector<TriedPlan> alone = leaders;
  PlanSimulator brief(walk.instance, OrderEffort::brief);
  std::int64_t simulated_of_all = 0;
  for (TriedPlan& leader : alone) {
    LocalSearch search(walk.space, LocalSearch::Kind::all);
    search.improve(brief, {}, leader, 4e5);
    simulated_of_all += search.num_simulated();
  }
  std::vector<TriedPlan> raced = leaders;
  const std::vector<LocalSearch> searches =
      LeaderRace(walk.space, std::make_shared<KnownOrders>())
          .run(raced, 2, LocalSearch::Kind::all, 4e5, OrderEffort::brief);
  std::int64_t simulated_of_race = 0;
  int left_behind = 0;
  for (std::size_t i = 0; i < searches.size(); ++i) {
    simulated_of_race += searches[i].num_simulated();
    const bool is_far = leaders[i].seconds > 1.25 * least(leaders);
    CHECK((searches[i].num_simulated() == 0) == is_far);
    left_behind += is_far ? 1 : 0;
  }
  CHECK(left_behind > 0);
  CHECK(least(raced) == least(alone));
  CHECK(3 * simulated_of_race < 2 * simulated_of_all);
}

TEST_CASE("a race of several threads ends where none but the first can be started", "[planners]") {
  Walk walk;
  walk.restrictions.threads = 4;
  PlanSimulator simulator(walk.instance);
  walk.plan.seconds = simulator.of(walk.plan.plan).iteration_seconds;
  const Ended ended = in_process([&] {
    ::alarm(600);  // ends a race that waits for ever
    refuse_threads();
    std::vector<TriedPlan> leaders(3, walk.plan);
    LeaderRace(walk.space, std::make_shared<KnownOrders>())
        .run(leaders, 1, LocalSearch::Kind::all, 1e4, OrderEffort::brief);
    std::fputs(leaders.front().seconds < walk.plan.seconds ? "better" : "as before", stdout);
  });
  CHECK(ended.code == 0);
  CHECK(ended.printed == "better");
}

TEST_CASE("threads without a leader simulate steps ahead, and change nothing", "[planners]") {
  std::vector<double> seconds;
  std::vector<std::int64_t> simulated;
  std::vector<std::vector<Plan>> paths;
  for (const int threads : {1, 2, 4}) {
    Walk walk;
    walk.restrictions.threads = threads;
    PlanSimulator simulator(walk.instance);
    walk.plan.seconds = simulator.of(walk.plan.plan).iteration_seconds;
    std::vector<TriedPlan> leaders = {walk.plan};  // so that all threads but one have none
    const std::vector<LocalSearch> searches =
        LeaderRace(walk.space, std::make_shared<KnownOrders>())
            .run(leaders, 1, LocalSearch::Kind::all, 1e12, OrderEffort::brief);
    seconds.push_back(leaders.front().seconds);
    simulated.push_back(searches.front().num_simulated());
    paths.push_back(searches.front().path());
  }
  CHECK(paths.front().size() > 3);
  for (std::size_t i = 1; i < paths.size(); ++i) {
    CHECK(seconds[i] == seconds.front());
    CHECK(simulated[i] == simulated.front());
    REQUIRE(paths[i].size() == paths.front().size());
    for (std::size_t k = 0; k < paths[i].size(); ++k)
      CHECK(same_plan(paths[i][k], paths.front()[k]));
  }
}

/// The chunks of a loop over `sizes.front().size()` stages, with so many layers each, round by
/// round.
Plan in_rounds(const std::vector<std::vector<std::int64_t>>& sizes, const std::string& schedule) {
  const std::size_t stages = sizes.front().size();
  std::vector<Interval> whole;
  for (std::size_t s = 0; s < stages; ++s)
    whole.push_back({static_cast<std::int64_t>(s), static_cast<std::int64_t>(s) + 1});
  Plan plan = uniform_plan(whole, 1, 1, 16, 1, schedule);
  plan.schedule.virtual_stages = static_cast<int>(sizes.size());
  for (Stage& stage : plan.stages) stage.layers.clear();
  std::int64_t end = 0;
  for (const std::vector<std::int64_t>& round : sizes) {
    for (std::size_t s = 0; s < stages; ++s) {
      plan.stages[s].layers.push_back({end, end + round[s]});
      end += round[s];
    }
  }
  return plan;
}

TEST_CASE("rounds of chunks are changed where that makes a plan faster", "[planners]") {
  const Profile profile = blocks(30, 0.2);
  const Cluster cluster = mixed_nodes(2, 2);
  const Instance instance = {profile, cluster, 16};
  const Restrictions restrictions = test::everything_free();
  const SearchSpace space = {instance, restrictions};
  const Plan plan = in_rounds({{2, 1, 1}, {3, 3, 3}, {3, 3, 3}, {3, 3, 2}}, "auto");
  const std::vector<Plan> others = changed_rounds(space, plan);
  REQUIRE(others.size() == 14);  // the second and the third round are alike, and one of the first
                                 // cannot give a layer
  CHECK(same_plan(others.front(), in_rounds({{3, 3, 3}, {2, 1, 1}, {3, 3, 3}, {3, 3, 2}}, "auto")));
  PlanSimulator simulator(instance);
  TriedPlan found = {plan, simulator.of(plan).iteration_seconds, "", 0.0, {}};
  LocalSearch search(space, LocalSearch::Kind::cuts);
  search.improve(simulator, {}, found, 1e9);
  REQUIRE(search.complete());
  for (const Plan& other : changed_rounds(space, found.plan)) {
    const SimulatedPlan& result = simulator.of(other);
    CHECK((!result.why_not.empty() || result.iteration_seconds >= found.seconds * (1.0 - 1e-5)));
  }
}

}  // namespace
}  // namespace pptrain
