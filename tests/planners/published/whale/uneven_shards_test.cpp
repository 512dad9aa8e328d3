#include "planners/published/whale/uneven_shards.hpp"

#include "config/read.hpp"
#include "cost/instances.hpp"
#include "planners/ask/whole_experts.hpp"
#include "planners/search.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// Two equal layers with rows at degree 2; "t" takes twice as long as "v". Nodes of one device,
/// links cost nothing.
struct Mixed {
  Profile profile;
  Cluster cluster;

  explicit Mixed(double memory = 1e6) : cluster(nodes_of(2, 1, memory)) {
    for (const char* name : {"a", "b"}) profile.layers.push_back(layer(name, 1.0, 1.0, 2.0));
    for (ProfileLayer& l : profile.layers) l.parameters = 60.0;
    add_kind(profile, "t", 2.0);
    add_degree(profile, 2);
    profile.axes = {{"heads", 6}, {"columns", 33}};
    add_slow_node(cluster, 1, memory);
    cluster.groups[1].count = 2;
    for (NodeGroup& group : cluster.groups) group.uplink = {1e9, 0.0};
    cluster.finish("made");
  }
  Shards shards(const std::vector<int>& ids, double state_bytes = 0.0) const {
    std::vector<DeviceId> devices;
    for (const int id : ids) devices.emplace_back(id);
    return uneven_shards({profile, cluster, 4}, 2, devices, state_bytes);
  }
};

TEST_CASE("members hold shards in proportion to their speed, in whole units of each axis",
          "[planners]") {
  const Mixed mixed;
  CHECK(mixed.shards({0, 2}) ==
        Shards{{"columns", {{0, 22}, {22, 33}}}, {"heads", {{0, 4}, {4, 6}}}});
  CHECK(mixed.shards({2, 0}) ==
        Shards{{"columns", {{0, 11}, {11, 33}}}, {"heads", {{0, 2}, {2, 6}}}});
  CHECK(mixed.shards({0, 2, 1, 3}) == mixed.shards({0, 2}));  // two replicas, each fast and slow
}

TEST_CASE("shards stay even where members are alike or nothing is known of the axes",
          "[planners]") {
  Mixed mixed;
  CHECK(mixed.shards({0, 1}).empty());
  CHECK(mixed.shards({0, 2, 3, 1}).empty());  // a slow device in each column
  mixed.profile.axes["heads"] = 1;
  CHECK(mixed.shards({0, 2}).empty());
  mixed.profile.axes.clear();
  CHECK(mixed.shards({0, 2}).empty());
}

TEST_CASE("whole experts are shared where they are asked for and each member gets one",
          "[planners]") {
  Mixed mixed;
  mixed.profile.axes["experts"] = 9;
  const auto experts = [&](bool whole) {
    const Shards shards =
        uneven_shards({mixed.profile, mixed.cluster, 4}, 2, {DeviceId(0), DeviceId(2)}, 0.0, whole);
    CHECK(shards.contains("heads"));
    return shards.contains("experts") ? shards.at("experts") : std::vector<Interval>();
  };
  CHECK(experts(true) == std::vector<Interval>{{0, 6}, {6, 9}});
  CHECK(experts(false).empty());
  mixed.profile.axes["experts"] = 1;
  CHECK(experts(true).empty());
}

TEST_CASE("a search gives whole experts where the job asks for them, with the same prediction",
          "[planners]") {
  Mixed mixed;
  mixed.profile.axes["experts"] = 8;
  const Instance instance = {mixed.profile, mixed.cluster, 4};
  Restrictions restrictions =
      restrictions_of(parse_config("[parallelism]\nexperts = \"whole\"\n", "c.toml", ""));
  CHECK(restrictions.experts == Experts::whole);
  restrictions.pipeline = 1;
  restrictions.tensor = 2;
  const Plan whole = *search_plan("amp", instance, restrictions, "x").plan;
  restrictions.experts = Experts::columns;
  const Plan columns = *search_plan("amp", instance, restrictions, "x").plan;
  CHECK(whole.stages[0].shards == Shards{{"experts", {{0, 4}, {4, 8}}}});
  CHECK(columns.stages[0].shards.empty());
  CHECK(whole.predicted->iteration_seconds == columns.predicted->iteration_seconds);
}

TEST_CASE("plans give members of a group equally many whole experts", "[planners]") {
  Profile profile;
  profile.axes = {{"experts", 8}};
  Plan plan = uniform_plan({{0, 2}}, 1, 4, 8, 8, "1f1b");
  plan.stages[0].blocks = {{{1, 2}, 2, 2, TensorPattern::megatron, {{0, 4}, {4, 8}}, {}}};
  Plan uneven = plan;
  uneven.stages[0].shards["columns"] = {{0, 1}, {1, 2}, {2, 3}, {3, 8}};
  give_whole_experts(plan, profile);
  CHECK(plan.stages[0].shards == Shards{{"experts", {{0, 2}, {2, 4}, {4, 6}, {6, 8}}}});
  CHECK(plan.stages[0].blocks[0].shards == Shards{{"experts", {{0, 4}, {4, 8}}}});
  give_whole_experts(uneven, profile);
  CHECK_FALSE(uneven.stages[0].shards.contains("experts"));
  profile.axes["experts"] = 6;  // four members cannot have equally many
  Plan other = uniform_plan({{0, 2}}, 1, 4, 8, 8, "1f1b");
  give_whole_experts(other, profile);
  CHECK(other.stages[0].shards.empty());
}

TEST_CASE("a member whose memory is short holds less", "[planners]") {
  const Mixed mixed(600.0);
  CHECK(mixed.shards({0, 2}, 1150.0).at("heads") == std::vector<Interval>{{0, 3}, {3, 6}});
  CHECK(mixed.shards({0, 2}, 1300.0).empty());
}

TEST_CASE("a split over unequal devices has uneven shards", "[planners]") {
  const Mixed mixed;
  Restrictions restrictions;
  restrictions.annotations = {{{0, 2}, Primitive::split, 2}};
  restrictions.micro_batch_size = 4;
  const Instance instance = {mixed.profile, mixed.cluster, 4};
  const Plan plan = *search_plan("whale", instance, restrictions, "x").plan;
  validate_plan(plan, 2, 4, "plan");
  // Replicas of two like devices would take 2 x 4 s of 2 x 2 layers a sample on the fast row.
  REQUIRE(plan.num_stages() == 1);
  CHECK(plan.stages[0].replicas == 2);
  Plan even = plan;
  even.stages[0].shards.clear();
  CHECK(amp_terms(instance, plan).iteration_seconds <= amp_terms(instance, even).iteration_seconds);

  Restrictions one_row = restrictions;
  one_row.annotations = {{{0, 1}, Primitive::split, 2}, {{1, 2}, Primitive::split, 2}};
  const Cluster reversed = [&] {
    Cluster cluster = mixed.cluster;
    cluster.groups[1].count = 1;
    cluster.groups.insert(cluster.groups.begin(), cluster.groups[1]);  // t, v v, t: each pair is
                                                                       // unequal
    cluster.finish("made");
    return cluster;
  }();
  const Instance pairs = {mixed.profile, reversed, 4};
  const Plan pipeline = *search_plan("whale", pairs, one_row, "x").plan;
  validate_plan(pipeline, 2, 4, "plan");
  CHECK(why_not_fit(pairs, pipeline).empty());
  for (const Stage& stage : pipeline.stages) {
    REQUIRE(stage.shards.size() == 2);
    const bool slow_first = reversed.kind_of(stage.devices[0][0]).name == "t";
    CHECK(stage.shards.at("heads") == (slow_first ? std::vector<Interval>{{0, 2}, {2, 6}}
                                                  : std::vector<Interval>{{0, 4}, {4, 6}}));
  }
  // A fast device takes 4/3 of the 2 s a sample of its degree; a stage is a layer with four
  // samples.
  CHECK(amp_terms(pairs, pipeline).stage_seconds[0] == Approx(4 * 2.0 * 4.0 / 3.0));
}

}  // namespace
}  // namespace pptrain
