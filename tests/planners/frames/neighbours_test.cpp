#include "planners/frames/neighbours.hpp"

#include <algorithm>

#include "cost/instances.hpp"
#include "planners/everything_free.hpp"
#include "planners/large_instances.hpp"
#include "planners/made_rule.hpp"
#include "planners/simulation_of.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("every neighbour of a plan is a plan", "[planners]") {
  const Profile profile = blocks(13, 0.5);
  const Cluster cluster = mixed_nodes(2, 4);
  const Instance instance = {profile, cluster, 24};
  Restrictions free;
  free.recompute = std::nullopt;
  free.zero_stage = std::nullopt;
  free.virtual_stages = std::nullopt;
  const SearchSpace space = {instance, free};
  const Plan plan = uniform_plan({{0, 5}, {5, 6}, {6, 13}}, 2, 1, 24, 8, "1f1b");
  std::vector<Plan> all = shifted_layers(space, plan);
  CHECK(all.size() == 2);  // the middle stage has one layer and only takes
  for (const auto& more :
       {other_schedules(space, plan), other_micro_batches(space, plan), other_modes(space, plan)}) {
    CHECK(more.size() >= 4);
    all.insert(all.end(), more.begin(), more.end());
  }
  for (const Plan& schedule : other_schedules(space, plan)) {
    for (Plan& shifted : shifted_layers(space, schedule)) all.push_back(std::move(shifted));
  }
  for (const Plan& other : all) {
    CAPTURE(write_plan(other));
    CHECK_FALSE(same_plan(plan, other));
    CHECK_NOTHROW(validate_plan(other, 13, 8, "neighbour"));
    CHECK(simulation_of(instance, other).makespan_seconds > 0.0);
  }
}

TEST_CASE("a stage of one replica has no steps to other ZeRO stages", "[planners]") {
  const Profile profile = blocks(6, 0.4);
  const Cluster cluster = mixed_nodes(2, 2);
  const SearchSpace space = {{profile, cluster, 8}, test::everything_free(), "1f1b"};
  Plan plan = uniform_plan({{0, 3}, {3, profile.num_layers()}}, 1, 1, 4, 2, "1f1b");
  const auto has_zero = [](std::size_t stage) {
    return [stage](const Plan& other) { return other.stages[stage].zero_stage > 0; };
  };
  const std::vector<Plan> alone = other_modes(space, plan);
  CHECK(alone.size() == 6);  // two other kinds of recomputation, of both stages or of one
  CHECK(std::none_of(alone.begin(), alone.end(), has_zero(0)));
  CHECK(std::none_of(alone.begin(), alone.end(), has_zero(1)));
  plan.stages[1] = uniform_plan({{0, profile.num_layers()}}, 2, 1, 4, 2, "1f1b").stages[0];
  plan.stages[1].layers = {{3, profile.num_layers()}};
  const std::vector<Plan> beside = other_modes(space, plan);
  CHECK(std::none_of(beside.begin(), beside.end(), has_zero(0)));
  CHECK(std::any_of(beside.begin(), beside.end(), has_zero(1)));
}

TEST_CASE(
    "steps to other offloads change what is offloaded, where that is allowed and nodes have a link "
    "to it",
    "[planners]") {
  const Profile profile = blocks(6, 0.4);
  Cluster cluster = mixed_nodes(2, 1);
  const Plan plan = uniform_plan({{0, 3}, {3, profile.num_layers()}}, 1, 1, 4, 2, "1f1b");
  Restrictions restrictions = test::everything_free();
  const auto steps = [&] {
    return other_offloads({{profile, cluster, 8}, restrictions, "1f1b"}, plan);
  };
  CHECK(steps().empty());  // there is nothing to offload to
  for (NodeGroup& group : cluster.groups) group.host_link = {1e9, 0.0};
  cluster.finish("made");
  const auto offloads = [](const Plan& other) {
    return std::any_of(other.stages.begin(), other.stages.end(),
                       [](const Stage& stage) { return stage.offloads(); });
  };
  const std::vector<Plan> free = steps();
  CHECK(free.size() > 6);
  CHECK(std::all_of(free.begin(), free.end(), offloads));
  restrictions.offload_activations = false;
  const std::vector<Plan> states = steps();
  CHECK((!states.empty() && states.size() < free.size()));
  restrictions.offload = false;
  CHECK(steps().empty());
}

TEST_CASE("samples are scaled in their proportion, with one at least for each replica",
          "[planners]") {
  CHECK(scaled_samples({{0, 3}, {3, 4}}, 8) == std::vector<Interval>{{0, 6}, {6, 8}});
  CHECK(scaled_samples({{0, 2}, {2, 3}}, 6) == std::vector<Interval>{{0, 3}, {3, 6}});
  CHECK(scaled_samples({{0, 9}, {9, 10}}, 4) == std::vector<Interval>{{0, 3}, {3, 4}});
  CHECK(scaled_samples({{0, 1}, {1, 10}}, 4) == std::vector<Interval>{{0, 1}, {1, 4}});
}

TEST_CASE("the two smaller and the two larger micro-batches that all replicas share are tried",
          "[planners]") {
  const Profile profile = two_layers(0.0);
  const Cluster cluster = nodes_of(1, 3);
  const Restrictions restrictions;
  const SearchSpace space = {{profile, cluster, 24}, restrictions};
  Plan plan = uniform_plan({{0, 2}}, 3, 1, 24, 4, "1f1b");
  plan.stages[0].samples = {{0, 1}, {1, 2}, {2, 4}};
  std::vector<std::int64_t> sizes;
  for (const Plan& other : other_micro_batches(space, plan)) {
    sizes.push_back(other.micro_batch_size);
    CHECK(other.micro_batches == 24 / other.micro_batch_size);
    CHECK_NOTHROW(validate_plan(other, 2, 3, "neighbour"));
  }
  CHECK(sizes == std::vector<std::int64_t>{3, 6, 8});  // three replicas cannot share two samples
}

/// Where the chunks of each plan begin, in the order of the layers, without the first one.
std::vector<std::vector<std::int64_t>> cuts_of(const std::vector<Plan>& plans) {
  std::vector<std::vector<std::int64_t>> all;
  for (const Plan& plan : plans) {
    std::vector<std::int64_t>& cuts = all.emplace_back();
    for (const ChunkPlace& chunk : chunk_places(plan)) cuts.push_back(chunk.layers.begin);
    cuts.erase(cuts.begin());
  }
  return all;
}

TEST_CASE("cuts move by a layer, one or several in a row, or two of them", "[planners]") {
  using Cuts = std::vector<std::vector<std::int64_t>>;
  const Profile profile = blocks(10, 0.0);
  const Cluster cluster = mixed_nodes(2, 8);
  Restrictions restrictions;
  const SearchSpace space = {{profile, cluster, 8}, restrictions};
  const auto stages = [](const std::vector<Interval>& layers) {
    return uniform_plan(layers, 1, 1, 8, 1, "1f1b");
  };
  const Plan plan = stages({{0, 2}, {2, 4}, {4, 6}});
  CHECK(cuts_of(shifted_layers(space, plan)) == Cuts{{1, 4}, {3, 4}, {2, 3}, {2, 5}});
  CHECK(cuts_of(shifted_layers(space, plan, 2)) ==
        Cuts{{1, 4}, {3, 4}, {2, 3}, {2, 5}, {1, 3}, {3, 5}});
  CHECK(cuts_of(shifted_pairs(space, plan)) == Cuts{{1, 5}});  // the middle one cannot lose both
  CHECK(cuts_of(shifted_pairs(space, stages({{0, 3}, {3, 6}, {6, 9}}))) == Cuts{{2, 7}, {4, 5}});
  CHECK_FALSE(shifted_pairs(space, stages(even_division(20, 10))).empty());
  CHECK(shifted_pairs(space, stages(even_division(22, 11))).empty());

  const auto rule = std::make_shared<MadeRule>();
  rule->layers_of_block = 2;
  restrictions.rule = rule;
  CHECK(cuts_of(shifted_layers(space, stages({{0, 4}, {4, 8}}))) == Cuts{{2}, {6}});
  restrictions.rule = nullptr;
  Plan sharded = plan;
  sharded.stages[1].shards["columns"] = {{0, 8}};
  CHECK_FALSE(has_plain_stages(sharded));
  CHECK(shifted_layers(space, sharded).empty());
  restrictions.annotations.emplace_back();
  CHECK(has_plain_stages(plan));
  CHECK(shifted_layers(space, plan).empty());
  CHECK(shifted_pairs(space, plan).empty());
}

TEST_CASE("replicas divide experts and send rows where that is asked for, and experts go over",
          "[planners]") {
  Profile profile = two_layers(0.0);
  profile.layers[1].exchange_bytes = 100.0;
  profile.axes = {{"experts", 4}};
  const Cluster cluster = nodes_of(1, 2);
  Restrictions restrictions;
  const SearchSpace space = {{profile, cluster, 8}, restrictions};
  const Plan plan = uniform_plan({{0, 2}}, 2, 1, 8, 4, "1f1b");
  CHECK(sent_rows(space, plan).empty());
  restrictions.experts = Experts::sent;
  const std::vector<Plan> sent = sent_rows(space, plan);
  REQUIRE(sent.size() == 1);
  REQUIRE(sent[0].stages[0].blocks.size() == 1);
  const Block& block = sent[0].stages[0].blocks[0];
  CHECK(block.layers == Interval{1, 2});
  CHECK(block.pattern == TensorPattern::all_to_all);
  CHECK(block.shards.at("experts") == std::vector<Interval>{{0, 2}, {2, 4}});
  CHECK(sent[0].stages[0].samples == plan.stages[0].samples);

  std::vector<std::vector<Interval>> experts;
  for (const Plan& other : shifted_experts(space, sent[0]))
    experts.push_back(other.stages[0].blocks[0].shards.at("experts"));
  CHECK(experts == std::vector<std::vector<Interval>>{{{0, 1}, {1, 4}}, {{0, 3}, {3, 4}}});
  CHECK(shifted_experts(space, plan).empty());
  restrictions.expert = 4;  // more than there are replicas
  CHECK(sent_rows(space, plan).empty());
}

}  // namespace
}  // namespace pptrain
