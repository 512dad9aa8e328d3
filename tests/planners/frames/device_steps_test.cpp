// Neighbours of a plan with other devices, or other samples on the same ones.
#include <utility>
#include <vector>

#include "cost/instances.hpp"
#include "planners/frames/neighbours.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// Four layers, and a space of plans that restricts nothing of devices.
struct Steps {
  explicit Steps(Cluster nodes) : cluster(std::move(nodes)) {
    for (int l = 0; l < 4; ++l) profile.layers.push_back(layer(fmt::format("{}", l), 1, 1, 1));
    add_kind(profile, "t", 2.0);
  }

  /// All of them are plans.
  std::vector<Plan> valid(std::vector<Plan> plans) const {
    for (const Plan& plan : plans)
      CHECK_NOTHROW(validate_plan(plan, 4, cluster.num_devices(), "neighbour"));
    return plans;
  }

  Profile profile;
  Cluster cluster;
  Instance instance = {profile, cluster, 8};
  Restrictions restrictions = {};
  SearchSpace space = {instance, restrictions};
};

/// Devices of a stage, a replica behind the other.
std::vector<int> devices_of(const Stage& stage) {
  std::vector<int> devices;
  for (const auto& row : stage.devices) {
    for (const DeviceId device : row) devices.push_back(static_cast<int>(device.index()));
  }
  return devices;
}

/// Devices of all stages of each plan.
std::vector<std::vector<int>> all_devices(const std::vector<Plan>& plans) {
  std::vector<std::vector<int>> all;
  for (const Plan& plan : plans) {
    std::vector<int>& devices = all.emplace_back();
    for (const Stage& stage : plan.stages) {
      const std::vector<int> own = devices_of(stage);
      devices.insert(devices.end(), own.begin(), own.end());
    }
  }
  return all;
}

TEST_CASE("a sample goes over to a replica on another kind or with more samples", "[planners]") {
  Cluster nodes = nodes_of(1, 2);
  add_slow_node(nodes, 2);
  Steps mixed(nodes);
  const auto samples = [](const Steps& steps, const Plan& plan) {
    std::vector<std::vector<Interval>> all;
    for (const Plan& other : steps.valid(shifted_samples(steps.space, plan)))
      all.push_back(other.stages[0].samples);
    return all;
  };
  using Samples = std::vector<std::vector<Interval>>;
  const Plan even = uniform_plan({{0, 4}}, 4, 1, 8, 8, "1f1b");
  CHECK(samples(mixed, even) ==
        Samples{{{0, 1}, {1, 3}, {3, 6}, {6, 8}}, {{0, 3}, {3, 5}, {5, 6}, {6, 8}}});
  const Steps alike(nodes_of(1, 4));
  CHECK(samples(alike, even).empty());
  Plan uneven = even;
  uneven.stages[0].samples = {{0, 1}, {1, 2}, {2, 4}, {4, 8}};
  CHECK(samples(alike, uneven) == Samples{{{0, 2}, {2, 3}, {3, 4}, {4, 8}},
                                          {{0, 1}, {1, 2}, {2, 3}, {3, 8}},
                                          {{0, 2}, {2, 3}, {3, 5}, {5, 8}},
                                          {{0, 1}, {1, 2}, {2, 5}, {5, 8}}});
}

TEST_CASE("stages of equal shape change places, and devices with those of other nodes",
          "[planners]") {
  using Devices = std::vector<std::vector<int>>;
  const Plan plan = uniform_plan({{0, 2}, {2, 4}}, 2, 1, 8, 4, "1f1b");
  const Steps two(nodes_of(2, 2));
  CHECK(all_devices(two.valid(exchanged_devices(two.space, plan))) ==
        Devices{{2, 3, 0, 1}, {2, 1, 0, 3}, {3, 1, 2, 0}, {0, 2, 1, 3}, {0, 3, 2, 1}});
  const Steps one(nodes_of(1, 4));
  CHECK(all_devices(exchanged_devices(one.space, plan)) == Devices{{2, 3, 0, 1}});
  const Steps many(nodes_of(2, 9));  // more devices than are exchanged one by one
  CHECK(exchanged_devices(many.space, uniform_plan({{0, 2}, {2, 4}}, 9, 1, 72, 9, "1f1b")).size() ==
        1);
  Plan unlike = plan;
  unlike.stages[1].replicas = 1;
  unlike.stages[1].devices = {{DeviceId(2)}};
  unlike.stages[1].samples = {{0, 4}};
  CHECK(exchanged_devices(one.space, unlike).empty());
}

TEST_CASE("a replica of a stage or of all is left out, or a stage", "[planners]") {
  using Devices = std::vector<std::vector<int>>;
  Steps steps(nodes_of(1, 4));
  const Plan plan = uniform_plan({{0, 2}, {2, 4}}, 2, 1, 8, 4, "1f1b");
  const std::vector<Plan> fewer = steps.valid(fewer_devices(steps.space, plan));
  CHECK(all_devices(fewer) == Devices{{1, 2, 3}, {2, 3}, {0, 1, 3}, {0, 1}, {0, 2}});
  CHECK(fewer[0].stages[0].samples == std::vector<Interval>{{0, 4}});
  CHECK(fewer[1].stages[0].layers == std::vector<Interval>{{0, 4}});
  CHECK(fewer[3].stages[0].layers == std::vector<Interval>{{0, 4}});
  steps.restrictions.data = 2;
  CHECK(all_devices(fewer_devices(steps.space, plan)) == Devices{{2, 3}, {0, 1}});
  steps.restrictions.pipeline = 2;
  CHECK(fewer_devices(steps.space, plan).empty());
}

TEST_CASE("a device that is left out becomes a replica or a stage", "[planners]") {
  using Devices = std::vector<std::vector<int>>;
  Steps steps(nodes_of(1, 3));
  const Plan plan = uniform_plan({{0, 3}, {3, 4}}, 1, 1, 8, 4, "1f1b");
  const std::vector<Plan> more = steps.valid(more_devices(steps.space, plan));
  // A stage of one layer has none to give.
  CHECK(all_devices(more) == Devices{{0, 2, 1}, {0, 2, 1}, {0, 1, 2}});
  REQUIRE(more[0].num_stages() == 3);
  CHECK(more[0].stages[0].layers == std::vector<Interval>{{0, 1}});
  CHECK(more[0].stages[1].layers == std::vector<Interval>{{1, 3}});
  REQUIRE(more[1].num_stages() == 2);
  CHECK(more[1].stages[0].samples == std::vector<Interval>{{0, 2}, {2, 4}});
  CHECK(more[2].stages[1].replicas == 2);
  steps.restrictions.pipeline = 2;
  CHECK(more_devices(steps.space, plan).size() == 2);
  steps.restrictions.data = 1;
  CHECK(more_devices(steps.space, plan).empty());
  const Steps used(nodes_of(1, 2));
  CHECK(more_devices(used.space, plan).empty());
}

}  // namespace
}  // namespace pptrain
