// Planner `uniform`: what trainers with one value for all stages can run.
#include "cost/instances.hpp"
#include "plan/uniformity.hpp"
#include "planners/everything_free.hpp"
#include "planners/search.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// A chain for two kinds of nodes, of which one computes three times as fast as the other.
Profile chain() {
  Profile profile;
  for (int l = 0; l < 8; ++l) {
    ProfileLayer made = layer(fmt::format("{}", l), 0.01, 0.01, 0.01);
    made.parameters = 100;
    made.output_bytes = 1000;
    made.stored_bytes = 5000;
    profile.layers.push_back(made);
  }
  add_kind(profile, "slow", 3.0);
  return profile;
}

Cluster two_kinds() {
  Cluster cluster = nodes_of(2, 3);
  cluster.device_kinds.push_back(cluster.device_kinds.front());
  cluster.device_kinds.back().name = "slow";
  cluster.groups.front().count = 1;
  cluster.groups.push_back(cluster.groups.front());
  cluster.groups.back().device_kind = "slow";
  for (NodeGroup& group : cluster.groups) {
    group.link = {1e6, 1e-5};
    group.uplink = {1e5, 1e-4};
  }
  cluster.finish("made");
  return cluster;
}

TEST_CASE("planner uniform finds grids that divide everything evenly, no slower than AMP's",
          "[planners]") {
  const Profile profile = chain();
  const Cluster cluster = two_kinds();
  const Instance instance = {profile, cluster, 12};
  Restrictions free = test::everything_free();
  const Plan any = *search_plan("auto", instance, free, "x").plan;
  CHECK_FALSE(is_even_grid(any));
  for (const char* schedule : {"auto", "1f1b", "interleaved-1f1b"}) {
    free.schedule = schedule;
    const Plan plan = *search_plan("uniform", instance, free, "x").plan;
    INFO(schedule << ": " << plan.shape());
    CHECK(is_even_grid(plan));
    CHECK(plan.planner == "uniform");
    CHECK(plan.predicted->iteration_seconds >= any.predicted->iteration_seconds * (1.0 - 1e-9));
  }
  free.schedule = "1f1b";
  const Plan best = *search_plan("uniform", instance, free, "x").plan;
  const Plan amp = *search_plan("amp", instance, free, "x").plan;
  CHECK(best.predicted->iteration_seconds <= amp.predicted->iteration_seconds * (1.0 + 1e-9));
}

TEST_CASE("planner uniform recomputes on all stages or on none, where memory is short",
          "[planners]") {
  Profile profile = chain();
  for (ProfileLayer& layer : profile.layers) layer.stored_bytes = 20000;
  Cluster cluster = two_kinds();
  for (DeviceKind& kind : cluster.device_kinds) kind.memory = 200000;
  const Plan plan =
      *search_plan("uniform", {profile, cluster, 12}, test::everything_free(), "x").plan;
  CHECK(is_even_grid(plan));
}

}  // namespace
}  // namespace pptrain
