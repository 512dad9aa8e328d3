#include "planners/published/dapple/pipedream.hpp"

#include <algorithm>
#include <limits>
#include <random>

#include "cost/instances.hpp"
#include "planners/published/dapple/slowest_stage.hpp"
#include "planners/search.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// Seconds of the slowest stage or cut of the best chain, by trying every one.
double slowest_of_all(const std::vector<double>& layers, const std::vector<double>& cuts, int begin,
                      int units) {
  const int end = static_cast<int>(layers.size());
  double best = std::numeric_limits<double>::infinity();
  double sum = 0.0;
  for (int middle = begin + 1; middle <= end; ++middle) {
    sum += layers[middle - 1];
    for (int count = 1; count <= units; ++count) {
      if ((middle == end) != (count == units)) continue;
      const double rest = middle == end ? 0.0 : slowest_of_all(layers, cuts, middle, units - count);
      const double cut = middle == end ? 0.0 : cuts[middle];
      best = std::min(best, std::max({sum / count, rest, cut}));
    }
  }
  return best;
}

TEST_CASE("the slowest stage is as fast as in any chain", "[planners][pipedream]") {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> real(0.0, 1.0);
  for (int round = 0; round < 200; ++round) {
    const int num_layers = 1 + round % 7;
    const int num_units = 1 + round % 5;
    std::vector<double> layers(num_layers);
    std::vector<double> cuts(num_layers + 1);
    for (double& seconds : layers) seconds = real(random);
    for (double& seconds : cuts) seconds = 0.5 * real(random);
    std::vector<int> counts;
    for (int count = 1; count <= num_units; ++count) counts.push_back(count);
    const auto stage_seconds = [&](const UnitStage& stage) {
      double sum = 0.0;
      for (auto l = stage.layers.begin; l < stage.layers.end; ++l) sum += layers[l];
      return sum / stage.num_units;
    };
    SlowestStage search(num_layers, num_units, counts, stage_seconds,
                        [&](int end) { return cuts[end]; });
    search.solve(0);
    CHECK(search.seconds(num_layers) == Approx(slowest_of_all(layers, cuts, 0, num_units)));
    const std::vector<UnitStage> stages = search.stages(num_layers);
    int unit = 0;
    std::int64_t layer = 0;
    double slowest = 0.0;
    for (const UnitStage& stage : stages) {
      CHECK(stage.first_unit == unit);
      CHECK(stage.layers.begin == layer);
      unit += stage.num_units;
      layer = stage.layers.end;
      slowest = std::max(slowest, stage_seconds(stage));
      if (layer < num_layers) slowest = std::max(slowest, cuts[layer]);
    }
    CHECK(unit == num_units);
    CHECK(layer == num_layers);
    CHECK(slowest == Approx(search.seconds(num_layers)));
  }
}

Profile equal_layers(int layers, double parameters, double output_bytes) {
  Profile profile;
  profile.model = "chain";
  for (int l = 0; l < layers; ++l) {
    ProfileLayer made = layer(fmt::format("layer.{}", l), 0.1, 0.1, 0.1);
    made.parameters = parameters;
    made.output_bytes = output_bytes;
    made.stored_bytes = 1.0;
    profile.layers.push_back(made);
  }
  return profile;
}

TEST_CASE("PipeDream replicates where weights are small and cuts where activations are",
          "[planners][pipedream]") {
  Cluster cluster = nodes_of(1, 4);
  Restrictions four;
  four.micro_batch_size = 4;
  // Links of 1000 B/s and 0.5 s: an all-reduce among four of 4 x 40 bytes takes 2 * 3 * 0.5 s and
  // more, a stage of four layers and four samples 4.8 s.
  const SearchResult light =
      search_plan("pipedream", {equal_layers(4, 10.0, 1e6), cluster, 8}, four, "x");
  REQUIRE(light.plan.has_value());
  CHECK(light.plan->shape() == "PP 1 x DP 4 x TP 1");
  const SearchResult heavy =
      search_plan("pipedream", {equal_layers(4, 1e4, 1.0), cluster, 8}, four, "x");
  REQUIRE(heavy.plan.has_value());
  CHECK(heavy.plan->shape() == "PP 4 x DP 1 x TP 1");
}

TEST_CASE("PipeDream plans inside nodes, then over nodes", "[planners][pipedream]") {
  // Inside a node an all-reduce is nearly free, between nodes it is not: one stage per node.
  Cluster cluster = nodes_of(2, 2);
  cluster.groups[0].link = {1e9, 0.0};
  cluster.groups[0].uplink = {100.0, 0.0};
  cluster.finish("made");
  Restrictions two;
  two.micro_batch_size = 2;
  const Profile profile = equal_layers(4, 1e3, 1.0);
  const SearchResult result = search_plan("pipedream", {profile, cluster, 8}, two, "x");
  REQUIRE(result.plan.has_value());
  const Plan& plan = *result.plan;
  CHECK(plan.planner == "pipedream");
  REQUIRE(plan.shape() == "PP 2 x DP 2 x TP 1");
  CHECK(plan.stages[0].devices == std::vector<std::vector<DeviceId>>{{DeviceId(0)}, {DeviceId(1)}});
  CHECK(plan.stages[0].layers == std::vector<Interval>{{0, 2}});
  CHECK(plan.predicted->estimate_seconds == plan.predicted->estimates.at("amp"));
}

TEST_CASE("PipeDream replicates the pipeline of a node over nodes", "[planners][pipedream]") {
  // Inside a node weights are slow to synchronise and activations are not; between nodes it is the
  // other way round.
  Cluster cluster = nodes_of(2, 2);
  cluster.groups[0].link = {1000.0, 0.0};
  cluster.groups[0].uplink = {1e9, 0.0};
  cluster.finish("made");
  Restrictions two;
  two.micro_batch_size = 2;
  Profile profile = equal_layers(2, 1e3, 1.0);
  profile.layers[0].output_bytes = 10.0;
  const SearchResult result = search_plan("pipedream", {profile, cluster, 8}, two, "x");
  REQUIRE(result.plan.has_value());
  REQUIRE(result.plan->shape() == "PP 2 x DP 2 x TP 1");
  CHECK(result.plan->stages[0].devices ==
        std::vector<std::vector<DeviceId>>{{DeviceId(0)}, {DeviceId(2)}});
}

TEST_CASE("PipeDream says why it has no plan", "[planners][pipedream]") {
  const Cluster cluster = nodes_of(1, 2, 100.0);
  const SearchResult large =
      search_plan("pipedream", {equal_layers(4, 10.0, 1.0), cluster, 8}, {}, "x");
  CHECK_FALSE(large.plan.has_value());
  CHECK(large.why_not.find("device 0 (v) needs") != std::string::npos);
  const Cluster roomy = nodes_of(1, 2);
  Restrictions straight;
  straight.pipeline = 2;
  straight.micro_batch_size = 8;
  const SearchResult other =
      search_plan("pipedream", {equal_layers(4, 0.0, 1e6), roomy, 8}, straight, "x");
  CHECK_FALSE(other.plan.has_value());
  CHECK(other.why_not ==
        "PipeDream chooses the stages itself, and none of its plans has pipeline = 2");
  Restrictions one;
  one.micro_batch_size = 1;
  const Cluster many = nodes_of(1, 3);
  const SearchResult few =
      search_plan("pipedream", {equal_layers(2, 10.0, 1.0), many, 8}, one, "x");
  CHECK_FALSE(few.plan.has_value());
  CHECK(few.why_not == "no micro-batch size gives each replica of its stages a sample");
}

TEST_CASE("PipeDream plans large clusters soon", "[planners][pipedream]") {
  const Profile profile = equal_layers(20, 1e4, 1e3);
  const Cluster cluster = nodes_of(500, 8, 1e12);
  const SearchResult result = search_plan("pipedream", {profile, cluster, 8192}, {}, "x");
  REQUIRE(result.plan.has_value());
  validate_plan(*result.plan, 20, 4000, "plan");
}

}  // namespace
}  // namespace pptrain
