#include <random>

#include "cost/instances.hpp"
#include "planners/large_instances.hpp"
#include "planners/made_rule.hpp"
#include "planners/published/amp/uniform_search.hpp"
#include "planners/search.hpp"
#include "support/catch.hpp"
#include "support/effort.hpp"

namespace pptrain {
namespace {

/// Eight nodes of two fast and of two slow devices in turn, so that the default order mixes them.
Cluster alternating_nodes(double memory = 16e9) {
  Cluster cluster = mixed_nodes(2, 2);
  for (int pair = 1; pair < 4; ++pair) {
    for (const int kind : {0, 1}) cluster.groups.push_back(cluster.groups[kind]);
  }
  for (DeviceKind& kind : cluster.device_kinds) kind.memory = memory;
  cluster.finish("made");
  return cluster;
}

const char* const baselines[] = {"amp-sa", "amp-uniform-layers", "amp-uniform-parameters",
                                 "random"};

TEST_CASE("amp's baselines return plans that fit, the same ones every time", "[planners]") {
  const Profile profile = blocks(26, 0.5);
  const Cluster cluster = alternating_nodes();
  const Instance instance = {profile, cluster, 32};
  for (const char* name : baselines) {
    INFO(name);
    const SearchResult first = search_plan(name, instance, {}, "x");
    const SearchResult again = search_plan(name, instance, {}, "x");
    REQUIRE(first.plan.has_value());
    CHECK(first.plan->planner == name);
    validate_plan(*first.plan, 26, 16, "plan");
    CHECK(why_not_fit(instance, *first.plan).empty());
    CHECK(first.plan->predicted->estimate_seconds ==
          Approx(amp_terms(instance, *first.plan).iteration_seconds).epsilon(1e-12));
    CHECK(again.plan->predicted->iteration_seconds == first.plan->predicted->iteration_seconds);
    CHECK(again.plan->shape() == first.plan->shape());
  }
}

TEST_CASE("annealing finds placements that the default order does not have", "[planners]") {
  const Profile profile = blocks(26, 0.5);
  const Cluster cluster = alternating_nodes();
  const Instance instance = {profile, cluster, 32};
  Restrictions restrictions;
  restrictions.pipeline = 2;
  const SearchResult amp = search_plan("amp", instance, restrictions, "x");
  SearchResult annealed;
  const double effort =
      test::effort_of([&] { annealed = search_plan("amp-sa", instance, restrictions, "x"); });
  CHECK(annealed.plan->predicted->estimate_seconds < 0.6 * amp.plan->predicted->estimate_seconds);
  // Every stage has devices of one kind, the fast one more layers.
  for (const Stage& stage : annealed.plan->stages) {
    for (const auto& row : stage.devices) {
      for (const DeviceId device : row) {
        CHECK(cluster.kind_index_of(device) == cluster.kind_index_of(stage.devices[0][0]));
      }
    }
  }
  CHECK(effort < 5.0);
}

TEST_CASE("the ablations have the best of all degrees with their division", "[planners]") {
  const Profile profile = blocks(10, 0.5);
  const Cluster cluster = mixed_nodes(2, 4);
  const Instance instance = {profile, cluster, 16};
  double least = 1e300;
  for (const Grid& grid : grids_of(8, {})) {
    if (!why_not_in_space(grid, instance, {}).empty()) continue;
    for (const std::int64_t samples : samples_per_replica(grid, 16, {})) {
      const Plan plan = uniform_plan(even_division(10, grid.pipeline), grid.data, grid.tensor, 16,
                                     samples * grid.data, "1f1b");
      if (why_not_fit(instance, plan).empty())
        least = std::min(least, amp_terms(instance, plan).iteration_seconds);
    }
  }
  const Plan even = *search_plan("amp-uniform-layers", instance, {}, "x").plan;
  CHECK(even.predicted->estimate_seconds == Approx(least).epsilon(1e-12));
  const Plan best = *search_plan("amp", instance, {}, "x").plan;
  for (const char* name : {"amp-uniform-layers", "amp-uniform-parameters", "random", "megatron"}) {
    CHECK(best.predicted->estimate_seconds <=
          search_plan(name, instance, {}, "x").plan->predicted->estimate_seconds * (1 + 1e-12));
  }
}

TEST_CASE("restrictions bind amp's baselines", "[planners]") {
  const Profile profile = blocks(12, 0.2);
  const Cluster cluster = mixed_nodes(4, 4);
  const Instance instance = {profile, cluster, 32};
  Restrictions restrictions;
  restrictions.pipeline = 4;
  restrictions.micro_batch_size = 8;
  restrictions.zero_stage = 1;
  for (const char* name : baselines) {
    INFO(name);
    const Plan plan = *search_plan(name, instance, restrictions, "x").plan;
    CHECK(plan.num_stages() == 4);
    CHECK(plan.micro_batch_size == 8);
    for (const Stage& stage : plan.stages) CHECK(stage.zero_stage == 1);
  }
}

TEST_CASE("annealing ends when it is stopped, with the best so far", "[planners]") {
  const Profile profile = blocks(100, 0.5);
  const Cluster cluster = mixed_nodes(128, 8);
  const SearchResult result = search_plan("amp-sa", {profile, cluster, 1024}, {}, "x", Stop(1e-9));
  REQUIRE(result.plan.has_value());
  CHECK_FALSE(result.complete);
}

TEST_CASE("where nothing fits the reason names device, bytes and what would help", "[planners]") {
  const Profile profile = blocks(16, 0.0);
  // A block takes 16 bytes x 50e6 parameters = 800 MB. With 60 MB of activations for each
  // micro-batch in flight the 16 devices need 1.76 GB each however the model is cut, with 4 MB of
  // inputs 0.86 GB.
  const Cluster cluster = alternating_nodes(0.9e9);
  for (const char* name :
       {"amp", "amp-sa", "megatron", "data-parallel", "amp-uniform-layers", "random"}) {
    INFO(name);
    const SearchResult result = search_plan(name, {profile, cluster, 32}, {}, "x");
    REQUIRE_FALSE(result.plan.has_value());
    INFO(result.why_not);
    CHECK(result.why_not.find(" (v100) needs ") != std::string::npos);
    CHECK(result.why_not.find("of its 858 MiB, ") != std::string::npos);
    CHECK(result.why_not.find("; try recompute = \"full\"") != std::string::npos);
  }
}

TEST_CASE("a remedy is named when it helps, and only then", "[planners]") {
  const Profile profile = blocks(16, 0.0);
  const auto why_not = [&](double memory, const std::shared_ptr<const PlanRule>& rule = nullptr) {
    Restrictions restrictions;
    restrictions.rule = rule;
    restrictions.tensor = 1;
    restrictions.data = 4;
    restrictions.pipeline = 4;
    const Cluster cluster = alternating_nodes(memory);
    return search_plan("amp", {profile, cluster, 32}, restrictions, "x").why_not;
  };
  // Four blocks of 800 MB, of which 600 MB are the optimizer's, and 4 micro-batches x 4 x 60 MB of
  // activations (inputs alone: 4 MB each) on the first stage. As 16 stages the model needs 1.76 GB.
  CHECK(why_not(3.9e9).ends_with(
      "; try data = pipeline = tensor = \"auto\" or recompute = \"full\" or zero_stage = 1"));
  CHECK(why_not(2.5e9).ends_with("; try data = pipeline = tensor = \"auto\" or zero_stage = 1"));
  // One block and 4 MB in each of the 16 stages would do with recomputation, on a grid of 4 x 4
  // only with ZeRO too.
  CHECK(why_not(0.9e9).ends_with("; try recompute = \"full\" with zero_stage = 3"));
  const auto trainer = std::make_shared<MadeRule>();  // without ZeRO
  CHECK(why_not(2.5e9, trainer).ends_with("; try data = pipeline = tensor = \"auto\""));
  trainer->kind.recomputes = {Recompute::none};
  CHECK(why_not(3.9e9, trainer).ends_with("; try data = pipeline = tensor = \"auto\""));
  CHECK(why_not(0.5e9).ends_with(
      "; no recomputation or ZeRO stage makes it fit: use more or larger devices"));
}

}  // namespace
}  // namespace pptrain
