#include "planners/published/dapple/dapple.hpp"

#include <algorithm>
#include <limits>

#include "cost/instances.hpp"
#include "planners/large_instances.hpp"
#include "planners/search.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// Equal layers of `seconds` each for F, B and W of a sample.
Profile equal_layers(int layers, double seconds, double parameters, double output_bytes) {
  Profile profile;
  profile.model = "chain";
  for (int l = 0; l < layers; ++l) {
    ProfileLayer made = layer(fmt::format("layer.{}", l), seconds, seconds, seconds);
    made.parameters = parameters;
    made.output_bytes = output_bytes;
    made.stored_bytes = 10.0;
    profile.layers.push_back(made);
  }
  return profile;
}

/// Fast links inside nodes, slow ones between them.
Cluster hierarchical(int nodes, int devices, double memory = 1e9) {
  Cluster cluster = nodes_of(nodes, devices, memory);
  cluster.groups[0].link = {1e9, 0.0};
  cluster.groups[0].uplink = {1e5, 0.0};
  cluster.finish("made");
  return cluster;
}

std::vector<int> nodes_of_stage(const Cluster& cluster, const Stage& stage) {
  std::vector<int> nodes;
  for (const auto& row : stage.devices) nodes.push_back(cluster.node_of(row[0]));
  return nodes;
}

TEST_CASE("stages of one node each keep gradients off the slow links", "[planners][dapple]") {
  // Figure 2 of the paper: gradients of 4e5 bytes over 1e5 B/s would take seconds, activations of
  // 10 bytes nothing.
  const Profile profile = equal_layers(8, 0.01, 1e5, 10.0);
  const Cluster cluster = hierarchical(2, 4);
  const SearchResult result = search_plan("dapple", {profile, cluster, 64}, {}, "x");
  REQUIRE(result.plan.has_value());
  const Plan& plan = *result.plan;
  CHECK(plan.planner == "dapple");
  CHECK(plan.shape() == "PP 2 x DP 4 x TP 1");
  CHECK(nodes_of_stage(cluster, plan.stages[0]) == std::vector<int>{0, 0, 0, 0});
  CHECK(nodes_of_stage(cluster, plan.stages[1]) == std::vector<int>{1, 1, 1, 1});
  CHECK(plan.stages[0].layers == std::vector<Interval>{{0, 4}});
  CHECK(plan.predicted->estimate_seconds == dapple_seconds({profile, cluster, 64}, plan));
  CHECK(plan.predicted->estimate_seconds == plan.predicted->estimates.at("dapple"));
}

TEST_CASE("large activations and small weights scatter a stage over nodes", "[planners][dapple]") {
  // The first layer's output is large, all others are small: the first two stages take half of each
  // node, so that the large one stays inside the nodes.
  Profile profile = equal_layers(2, 1.0, 0.0, 0.0);
  profile.layers[0].output_bytes = 1e6;
  const Cluster cluster = hierarchical(2, 2);
  Restrictions two_stages;
  two_stages.pipeline = 2;
  const SearchResult result = search_plan("dapple", {profile, cluster, 4}, two_stages, "x");
  REQUIRE(result.plan.has_value());
  for (const Stage& stage : result.plan->stages) {
    CHECK(nodes_of_stage(cluster, stage) == std::vector<int>{0, 1});
  }
}

TEST_CASE("a stage of few parameters is replicated, one of many is not", "[planners][dapple]") {
  // As VGG-19 on configuration C: nearly all work in front, nearly all parameters behind.
  Profile profile = equal_layers(5, 0.1, 1.0, 10.0);
  profile.layers[4] = layer("classifier", 0.01, 0.01, 0.01);
  profile.layers[4].parameters = 1e6;
  const Cluster cluster = hierarchical(6, 1);
  const SearchResult result = search_plan("dapple", {profile, cluster, 60}, {}, "x");
  REQUIRE(result.plan.has_value());
  REQUIRE(result.plan->num_stages() == 2);
  CHECK(result.plan->stages[0].replicas == 5);
  CHECK(result.plan->stages[0].layers == std::vector<Interval>{{0, 4}});
  CHECK(result.plan->stages[1].replicas == 1);
}

TEST_CASE("dapple's stages have what is fixed for every stage", "[planners][dapple]") {
  const Profile profile = equal_layers(6, 0.01, 1e3, 10.0);
  const Cluster cluster = hierarchical(2, 3);
  Restrictions fixed;
  fixed.data = 3;
  fixed.micro_batch_size = 6;
  fixed.recompute = Recompute::full;
  fixed.zero_stage = 2;
  fixed.schedule = "gpipe";
  const SearchResult result = search_plan("dapple", {profile, cluster, 12}, fixed, "x");
  REQUIRE(result.plan.has_value());
  CHECK(result.plan->micro_batch_size == 6);
  CHECK(result.plan->schedule.name == "gpipe");
  CHECK(result.plan->num_stages() == 2);
  for (const Stage& stage : result.plan->stages) {
    CHECK(stage.replicas == 3);
    CHECK(stage.recompute == Recompute::full);
    CHECK(stage.zero_stage == 2);
  }
}

TEST_CASE("dapple refuses tensor parallelism with the reason", "[planners][dapple]") {
  Profile profile = equal_layers(4, 0.01, 1e3, 10.0);
  add_degree(profile, 2);
  Restrictions fixed;
  fixed.tensor = 2;
  const SearchResult result = search_plan("dapple", {profile, hierarchical(1, 4), 8}, fixed, "x");
  CHECK_FALSE(result.plan.has_value());
  CHECK(result.why_not == "DAPPLE's stages have tensor-parallel degree 1, not 2");
}

TEST_CASE("dapple says what lacks least when nothing fits", "[planners][dapple]") {
  // 4 layers x 16 bytes x 1000 parameters over two stages of two layers, and 2 or 1 micro-batches
  // in flight.
  const Profile profile = equal_layers(4, 0.01, 1e3, 10.0);
  const Cluster cluster = hierarchical(1, 2, 30000.0);
  const SearchResult result = search_plan("dapple", {profile, cluster, 4}, {}, "x");
  CHECK_FALSE(result.plan.has_value());
  CHECK(result.why_not ==
        "PP 2 x DP 1 x TP 1 with micro-batches of 1: device 0 (v) needs 31.3 KiB of its 29.3 KiB, "
        "1.99 KiB too much: "
        "weights 7.81 KiB, gradients 7.81 KiB, optimizer state 15.6 KiB, activations 40 B");
}

TEST_CASE("dapple ends when it has to, with the best so far", "[planners][dapple]") {
  const Profile profile = equal_layers(30, 0.01, 1e3, 10.0);
  const Cluster cluster = hierarchical(8, 8);
  const Instance instance = {profile, cluster, 64};
  const Restrictions free;
  const Outcome outcome = DapplePlanner().search({instance, free, "1f1b", Stop(1e-6)});
  CHECK_FALSE(outcome.complete);
  REQUIRE(outcome.plan.has_value());  // data parallelism at least
  validate_plan(*outcome.plan, 30, 64, "plan");
}

}  // namespace
}  // namespace pptrain
