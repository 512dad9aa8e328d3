#include "planners/published/whale/whale.hpp"

#include "cluster/read.hpp"
#include "cost/instances.hpp"
#include "planners/large_instances.hpp"
#include "planners/published/whale/virtual_devices.hpp"
#include "planners/search.hpp"
#include "support/catch.hpp"
#include "support/effort.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

Plan whale_plan(const Instance& instance, const Restrictions& restrictions = {}) {
  const SearchResult result = search_plan("whale", instance, restrictions, "x");
  INFO(result.why_not);
  REQUIRE(result.plan);
  validate_plan(*result.plan, instance.profile.num_layers(), instance.cluster.num_devices(),
                "plan");
  CHECK(why_not_fit(instance, *result.plan).empty());
  return *result.plan;
}

/// Layers of one second per sample on kind "v" and `factor` of them on kind "t", without
/// parameters.
Profile two_kinds(int layers, double factor) {
  Profile profile;
  for (int l = 0; l < layers; ++l)
    profile.layers.push_back(layer(fmt::format("{}", l), 0.25, 0.25, 0.5));
  add_kind(profile, "t", factor);
  return profile;
}

Restrictions one_stage() {
  Restrictions restrictions;
  restrictions.pipeline = 1;
  restrictions.tensor = 1;
  return restrictions;
}

std::vector<std::int64_t> sizes(const std::vector<Interval>& samples) {
  std::vector<std::int64_t> sizes;
  for (const Interval& interval : samples) sizes.push_back(interval.size());
  return sizes;
}

TEST_CASE("uneven batches beat even ones by the ratio of the speeds", "[planners]") {
  // Two devices, the other one half as fast: 4 + 2 samples take 4 s, 3 + 3 take 6 s.
  const Profile profile = two_kinds(1, 2.0);
  Cluster cluster = nodes_of(1, 1);
  cluster.groups[0].uplink.latency = 0.0;
  add_slow_node(cluster, 1);
  const Instance instance = {profile, cluster, 6};
  const Plan plan = whale_plan(instance, one_stage());
  CHECK(plan.stages[0].samples[0].size() == 2 * plan.stages[0].samples[1].size());
  CHECK(plan.predicted->estimate_seconds == Approx(4.0));
  const SearchResult even = search_plan("data-parallel", instance, one_stage(), "x");
  CHECK(even.plan->predicted->estimate_seconds == Approx(6.0));
}

TEST_CASE("the batch need not be a multiple of the devices", "[planners]") {
  const Profile profile = two_kinds(1, 1.0);
  const Cluster cluster = nodes_of(1, 4);
  const Plan plan = whale_plan({profile, cluster, 7});
  CHECK(sizes(plan.stages[0].samples) == std::vector<std::int64_t>{2, 2, 2, 1});
  CHECK_FALSE(search_plan("data-parallel", {profile, cluster, 7}, {}, "x").plan);
}

TEST_CASE("a small memory shifts samples to slower devices", "[planners]") {
  Profile profile = two_kinds(1, 2.0);
  profile.layers[0].stored_bytes = 100.0;
  Cluster cluster = nodes_of(1, 1, 250.0);  // holds 2 samples
  add_slow_node(cluster, 1, 1000.0);
  Restrictions whole = one_stage();
  whole.micro_batch_size = 6;
  const Plan plan = whale_plan({profile, cluster, 6}, whole);
  CHECK(sizes(plan.stages[0].samples) == std::vector<std::int64_t>{2, 4});
}

TEST_CASE("what does not fit is said with device, bytes and reason", "[planners]") {
  Profile profile = two_kinds(1, 2.0);
  profile.layers[0].parameters = 100.0;  // 1600 bytes of model state
  Cluster cluster = nodes_of(1, 1, 2000.0);
  add_slow_node(cluster, 1, 1500.0);
  const SearchResult result = search_plan("whale", {profile, cluster, 6}, {}, "x");
  CHECK_FALSE(result.plan);
  CHECK(result.why_not ==
        "PP 1 x DP 2 x TP 1: with micro-batches of 2 device 1 (t) needs 1.56 KiB of its 1.46 KiB, "
        "100 B too much");
  const Cluster many = nodes_of(1, 8);
  CHECK(search_plan("whale", {profile, many, 4}, {}, "x").why_not ==
        "no micro-batch of the 4 samples holds one for each replica");
}

TEST_CASE("layers are divided between stages in proportion to their speed", "[planners]") {
  const Profile profile = two_kinds(9, 2.0);
  Cluster cluster = nodes_of(1, 1);
  add_slow_node(cluster, 1);
  Restrictions restrictions;
  restrictions.pipeline = 2;
  const Plan plan = whale_plan({profile, cluster, 16}, restrictions);
  CHECK(plan.stages[0].layers == std::vector<Interval>{{0, 6}});
  CHECK(plan.stages[1].layers == std::vector<Interval>{{6, 9}});
}

TEST_CASE("early stages get the devices with large memory", "[planners]") {
  // Two stages, so that the first one holds two micro-batches: it needs 400 bytes per layer, the
  // last one 200.
  Profile profile = two_kinds(4, 1.0);
  for (ProfileLayer& l : profile.layers) l.stored_bytes = 200.0;
  Cluster cluster = nodes_of(1, 1, 450.0);
  add_slow_node(cluster, 1, 850.0);
  Restrictions restrictions;
  restrictions.pipeline = 2;
  restrictions.micro_batch_size = 1;
  const Plan plan = whale_plan({profile, cluster, 8}, restrictions);
  CHECK(plan.stages[0].devices == std::vector<std::vector<DeviceId>>{{DeviceId(1)}});
  CHECK(plan.stages[0].layers == std::vector<Interval>{{0, 2}});
}

TEST_CASE("virtual devices come in file order, by memory, and pipeline by pipeline", "[planners]") {
  Cluster cluster = nodes_of(1, 2, 100.0);
  add_slow_node(cluster, 2, 200.0);
  const auto ids = [](const VirtualDevices& devices) {
    std::vector<std::vector<int>> result;
    for (const auto& graph : devices) {
      result.emplace_back();
      for (const DeviceId device : graph) result.back().push_back(device.value);
    }
    return result;
  };
  using Ids = std::vector<std::vector<int>>;
  const std::vector<VirtualDevices> all = virtual_devices(cluster, {1, 1}, 2);
  REQUIRE(all.size() == 3);
  CHECK(ids(all[0]) == Ids{{0, 1}, {2, 3}});
  CHECK(ids(all[1]) == Ids{{2, 3}, {0, 1}});
  CHECK(ids(all[2]) == Ids{{0, 2}, {1, 3}});
  CHECK(virtual_devices(nodes_of(1, 4), {4}, 1).size() == 1);
  CHECK(ids(virtual_devices(cluster, {1, 3}, 1)[1]) == Ids{{2}, {3, 0, 1}});
}

TEST_CASE("stages that have the same mix of kinds share their samples unevenly", "[planners]") {
  // Whale's 4 V100 + 4 P100 in 4 stages with nested data parallelism: activations are cheap inside
  // a node only.
  Profile profile = two_kinds(8, 2.0);
  for (ProfileLayer& l : profile.layers) l.output_bytes = 2000.0;
  Cluster cluster = nodes_of(1, 4);
  add_slow_node(cluster, 4);
  for (NodeGroup& group : cluster.groups) {
    group.link = {1e9, 0.0};
    group.uplink = {100.0, 0.0};
  }
  cluster.finish("made");
  Restrictions restrictions;
  restrictions.pipeline = 4;
  const Plan plan = whale_plan({profile, cluster, 24}, restrictions);
  for (const Stage& stage : plan.stages) {
    REQUIRE(stage.replicas == 2);
    CHECK(stage.samples[0].size() == 2 * stage.samples[1].size());
    CHECK(cluster.kind_of(stage.devices[0][0]).name == "v");
    CHECK(cluster.kind_of(stage.devices[1][0]).name == "t");
  }
}

TEST_CASE("fixed recomputation and ZeRO stage hold for every stage", "[planners]") {
  Profile profile = two_kinds(4, 2.0);
  for (ProfileLayer& l : profile.layers) l.parameters = 10.0;
  Cluster cluster = nodes_of(1, 2);
  add_slow_node(cluster, 2);
  Restrictions restrictions;
  restrictions.recompute = Recompute::full;
  restrictions.zero_stage = 2;
  restrictions.data = 2;
  for (const Stage& stage : whale_plan({profile, cluster, 8}, restrictions).stages) {
    CHECK(stage.recompute == Recompute::full);
    CHECK(stage.zero_stage == 2);
    CHECK(stage.replicas == 2);
  }
}

TEST_CASE("auto recomputes where nothing else fits, Whale as in its paper only on request",
          "[planners]") {
  Profile profile = two_kinds(2, 1.0);
  for (ProfileLayer& l : profile.layers) l.stored_bytes = 400.0;
  const Cluster cluster = nodes_of(1, 1, 500.0);
  CHECK_FALSE(search_plan("whale", {profile, cluster, 1}, {}, "x").plan);
  Restrictions free;
  free.recompute.reset();
  CHECK_FALSE(search_plan("whale", {profile, cluster, 1}, free, "x").plan);
  const SearchResult best = search_plan("auto", {profile, cluster, 1}, free, "x");
  REQUIRE(best.plan);
  CHECK(best.plan->stages[0].recompute == Recompute::full);
  free.recompute = Recompute::full;
  CHECK(whale_plan({profile, cluster, 1}, free).stages[0].recompute == Recompute::full);
}

TEST_CASE("a search that is stopped says so", "[planners]") {
  const Profile profile = blocks(26, 0.5);
  const Cluster cluster = mixed_nodes(16, 16);
  const Instance instance = {profile, cluster, 256};
  const Outcome outcome = WhalePlanner().search({instance, {}, "1f1b", Stop(1e-9)});
  CHECK_FALSE(outcome.complete);
}

/// A job of Whale's paper by its analytic profile.
struct PaperJob {
  Profile profile;
  Cluster cluster;
  std::int64_t batch;

  PaperJob(const std::string& model, const std::string& machine, std::int64_t samples)
      : profile(read_profile(source_file(fmt::format("inputs/profiles/{}-analytic.json", model)))),
        cluster(read_cluster(source_file(fmt::format("inputs/clusters/{}.toml", machine)))),
        batch(samples) {}
  Instance instance() const { return {profile, cluster, batch}; }
  Plan plan(const std::string& planner, const Restrictions& restrictions) const {
    return *search_plan(planner, instance(), restrictions, "x").plan;
  }
};

TEST_CASE("on 8 V100 and 8 P100 uneven batches are faster, as in Whale's Figure 17", "[planners]") {
  const PaperJob resnet("resnet-50", "whale-8v100-8p100", 1024);
  const Plan uneven = resnet.plan("whale", one_stage());
  const Plan even = resnet.plan("data-parallel", one_stage());
  CHECK(even.predicted->iteration_seconds > 1.2 * uneven.predicted->iteration_seconds);
  CHECK(uneven.stages[0].samples.front().size() > uneven.stages[0].samples.back().size());
  const PaperJob bert("bert-large", "whale-8v100-8p100", 256);
  const double compute = time_parts(bert.instance(), bert.plan("whale", one_stage())).compute;
  CHECK(time_parts(bert.instance(), bert.plan("data-parallel", one_stage())).compute >
        1.2 * compute);
  CHECK(bert.plan("data-parallel", {}).predicted->iteration_seconds >
        1.2 * bert.plan("whale", {}).predicted->iteration_seconds);
}

TEST_CASE("a large classifier is split over the devices that replicate the features",
          "[planners]") {
  const PaperJob job("resnet-50-100k", "whale-v100-4x8", 2048);
  const Plan plan = job.plan("whale", {});
  REQUIRE(plan.num_stages() == 1);
  REQUIRE(plan.stages[0].blocks.size() == 1);
  // Either part may be the stage's own division, and the other one a block.
  const Block& block = plan.stages[0].blocks[0];
  Block rest;
  rest.replicas = plan.stages[0].replicas;
  rest.tensor_parallel = plan.stages[0].tensor_parallel;
  const auto division = [&](std::int64_t layer) {
    return block.layers.contains(layer) ? block : rest;
  };
  for (std::int64_t layer = 0; layer < 17; ++layer) CHECK(division(layer).replicas == 32);
  CHECK(division(17).tensor_parallel > 1);
  CHECK(job.plan("data-parallel", {}).predicted->iteration_seconds >
        1.2 * plan.predicted->iteration_seconds);
  // With 1,000,000 classes no device holds the classifier.
  const PaperJob larger("resnet-50-1m", "whale-v100-4x8", 2048);
  CHECK_FALSE(search_plan("data-parallel", larger.instance(), {}, "x").plan);
  CHECK(larger.plan("whale", {}).stages[0].blocks.size() == 1);
}

struct Size {
  int layers;
  int nodes;
  int devices;
  std::int64_t batch;
  double effort;  ///< that planning may take, several times what it does
};
constexpr Size large[] = {
    {26, 4, 4, 32, 3}, {26, 16, 16, 256, 8}, {100, 128, 8, 1024, 80}, {100, 1280, 8, 10240, 500}};

TEST_CASE("whale plans large clusters at once, no worse than amp", "[planners]") {
  for (const Size& size : large) {
    const Profile profile = blocks(size.layers, 0.5);
    const Cluster cluster = mixed_nodes(size.nodes, size.devices);
    const Restrictions restrictions;
    const SearchSpace space = {{profile, cluster, size.batch}, restrictions};
    INFO(size.layers << " layers on " << size.nodes << " x " << size.devices << " devices");
    Outcome outcome;
    CHECK(test::effort_of([&] { outcome = WhalePlanner().search(space); }) < size.effort);
    REQUIRE(outcome.plan);
    const Outcome amp = planner_called("amp").search(space);
    CHECK(outcome.plan->predicted->estimate_seconds <=
          amp.plan->predicted->estimate_seconds * (1.0 + 1e-12));
  }
}

}  // namespace
}  // namespace pptrain
