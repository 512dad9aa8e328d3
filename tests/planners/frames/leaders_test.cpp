// Leaders of a search: those that are alike are improved once.
#include "planners/frames/leaders.hpp"

#include "planners/large_instances.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// A stage of one replica a device, on the devices with these numbers, with these numbers of
/// samples.
TriedPlan on(const std::vector<int>& devices, const std::vector<std::int64_t>& samples,
             double seconds) {
  Plan plan = uniform_plan({{0, 4}}, static_cast<int>(devices.size()), 1, 8, 8, "1f1b");
  std::int64_t end = 0;
  for (std::size_t r = 0; r < devices.size(); ++r) {
    plan.stages[0].devices[r] = {DeviceId(devices[r])};
    plan.stages[0].samples[r] = {end, end + samples[r]};
    end += samples[r];
  }
  return {plan, seconds, "", 0.0, {}};
}

std::size_t left_of(std::vector<TriedPlan> leaders) {
  drop_leaders_alike(leaders, mixed_nodes(2, 2));
  return leaders.size();
}

TEST_CASE("of plans that differ in the names of equal devices one is improved", "[planners]") {
  const Cluster cluster = mixed_nodes(2, 2);
  const int last = cluster.num_devices() - 1;
  REQUIRE(cluster.group_of(DeviceId(0)) == cluster.group_of(DeviceId(1)));
  REQUIRE(cluster.group_of(DeviceId(0)) != cluster.group_of(DeviceId(last)));
  const TriedPlan first = on({0, last}, {6, 2}, 1.0);
  CHECK(left_of({first, on({1, last}, {6, 2}, 1.0)}) == 1);
  CHECK(left_of({first, on({last, 1}, {2, 6}, 1.0)}) == 1);
  TriedPlan sharded = first;
  sharded.plan.stages[0].zero_stage = 1;
  CHECK(left_of({first, sharded}) == 1);
  // Other times, samples or kinds of device are other plans.
  CHECK(left_of({first, on({1, last}, {6, 2}, 1.5)}) == 2);
  CHECK(left_of({first, on({1, last}, {2, 6}, 1.0)}) == 2);
  CHECK(left_of({first, on({1, 0}, {6, 2}, 1.0)}) == 2);
}

}  // namespace
}  // namespace pptrain
