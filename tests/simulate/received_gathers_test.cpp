#include "simulate/received_gathers.hpp"

#include "cost/instances.hpp"
#include "schedule/schedule.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

constexpr Payload tied = Payload::tied_gradient;

/// A stage of two replicas with two members each: replica 1 is on another node.
struct TwoByTwo {
  Profile profile = two_layers(1.0);
  Cluster cluster = nodes_of(2, 2);
  Instance instance = {profile, cluster, 2};
  Plan plan = uniform_plan({{0, 2}}, 2, 2, 2, 2, "1f1b");
  Programs programs = compile_training(plan, task_orders(plan), {});
  ReceivedGathers gathers = {instance, plan, programs};
};

TEST_CASE("members of a replica gather what crosses cuts, replicas of a shard tied gradients",
          "[simulate]") {
  TwoByTwo made;
  CHECK(made.gathers.num_groups() == 4);
  CHECK(made.gathers.of(0, Payload::activation).programs == std::vector<int>{0, 1});
  CHECK(made.gathers.of(3, Payload::gradient).programs == std::vector<int>{2, 3});
  CHECK(made.gathers.of(2, tied).programs == std::vector<int>{0, 2});
  CHECK(made.gathers.of(1, tied).devices == std::vector<DeviceId>{DeviceId(1), DeviceId(3)});
  CHECK(made.gathers.number_of(0, tied) == made.gathers.number_of(2, tied));
  CHECK(made.gathers.number_of(0, tied) != made.gathers.number_of(0, Payload::activation));
}

TEST_CASE("a gather starts when its last program has come, over the slowest link", "[simulate]") {
  TwoByTwo made;
  for (int again = 0; again < 2; ++again) {
    CHECK(made.gathers.come(0, tied) == nullptr);
    CHECK(made.gathers.come(1, tied) == nullptr);  // of the other shard
    const ReceivedGathers::Group* group = made.gathers.come(2, tied);
    REQUIRE(group != nullptr);
    // Half of 100 bytes crosses the uplink of 100 B/s and 1 s.
    CHECK(made.gathers.seconds(*group, 100.0) == Approx(0.5 + 1.0));
    CHECK(made.gathers.come(3, tied) != nullptr);
  }
  CHECK(made.gathers.seconds(made.gathers.of(0, Payload::activation), 100.0) == Approx(0.05 + 0.5));
}

TEST_CASE("of programs of one class one comes for all, and the gather takes as long",
          "[simulate]") {
  const TwoByTwo made;
  SimulatedClasses classes;
  classes.programs = {{0, 0, 0, 0}, {0}};
  classes.received_gathers = {{0, 1, 1, 0}, {0, 1}};  // of replica 0, two of shards, of replica 1
  ReceivedGathers of_classes = made.gathers.of_classes(classes);
  CHECK(of_classes.num_groups() == 2);
  CHECK(of_classes.number_of(0, tied) == 1);
  const ReceivedGathers::Group* group = of_classes.come(0, tied);
  REQUIRE(group != nullptr);
  CHECK(group->programs == std::vector<int>{0});
  CHECK(of_classes.seconds(*group, 100.0) == Approx(0.5 + 1.0));
}

}  // namespace
}  // namespace pptrain
