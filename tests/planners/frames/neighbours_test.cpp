#include "planners/frames/neighbours.hpp"

#include <algorithm>

#include "planners/everything_free.hpp"
#include "planners/large_instances.hpp"
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

}  // namespace
}  // namespace pptrain
