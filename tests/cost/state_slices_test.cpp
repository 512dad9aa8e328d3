// Slices of what ZeRO divides, by the room that devices have.
#include "cost/state_slices.hpp"

#include "cost/instances.hpp"
#include "cost/state_bytes.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("slices are as equal as the rooms allow", "[cost]") {
  CHECK(largest_slice({{4, 1.0}}) == 0.25);
  CHECK(largest_slice({{2, 0.5}, {2, 0.25}}) == 0.25);
  // Two have room for a tenth each: the others share 0.8.
  CHECK(*largest_slice({{2, 0.9}, {2, 0.1}}) == Approx(0.4));
  CHECK(*largest_slice({{1, 0.3}, {1, 0.1}, {2, 0.6}}) == Approx(0.3));
  CHECK_FALSE(largest_slice({{2, 0.3}, {2, 0.1}}));
  CHECK_FALSE(largest_slice({{3, 1.0}, {1, 0.0}}));
}

TEST_CASE("slices by room cover the whole, and none is larger than its room", "[cost]") {
  const std::vector<double> rooms = {0.35, 0.1, 0.9, 0.1};
  const std::vector<Interval> slices = slices_by_room(rooms);
  REQUIRE(slices.size() == 4);
  CHECK(slices.front().begin == 0);
  CHECK(slices.back().end == 4 * slice_units);
  for (std::size_t j = 0; j < slices.size(); ++j) {
    if (j > 0) CHECK(slices[j].begin == slices[j - 1].end);
    CHECK(static_cast<double>(slices[j].size()) <= rooms[j] * 4 * slice_units);
  }
  CHECK(slices[0].size() == 358);  // floor(0.35 * 1024), beside the largest of 462
  CHECK(slices[2].size() == 462);
  CHECK(slices_by_room({1.0, 1.0, 1.0}) == std::vector<Interval>{{0, 256}, {256, 512}, {512, 768}});
  CHECK(slices_by_room({0.3, 0.3, 0.3}).empty());
}

Profile one_layer() {
  Profile profile;
  profile.layers.push_back(layer("a", 1, 1, 1));
  profile.layers[0].parameters = 100;
  profile.bytes_per_parameter = {2, 4, 8};
  return profile;
}

/// A layer of 100 parameters of 14 bytes on four devices, of which the first two have `small`
/// bytes.
struct UnlikeDevices {
  explicit UnlikeDevices(double small) : cluster(nodes_of(1, 2, small)) {
    add_slow_node(cluster, 2, 1000.0);
    plan.stages[0].zero_stage = 3;
  }
  Plan sliced() const { return with_slices_by_room(instance, plan, memory_bytes(instance, plan)); }

  Profile profile = one_layer();
  Cluster cluster;
  Instance instance = {profile, cluster, 4};
  Plan plan = uniform_plan({{0, 1}}, 4, 1, 4, 4, "1f1b");
};

TEST_CASE("a stage whose smaller devices lack memory gives them smaller slices", "[cost]") {
  const UnlikeDevices on(200);  // 1400 bytes in four equal slices of 350 do not fit
  REQUIRE_FALSE(why_not_fit(on.instance, on.plan).empty());
  const Plan sliced = on.sliced();
  CHECK(why_not_fit(on.instance, sliced).empty());
  const std::vector<StateBytes> state = state_bytes(on.instance, sliced);
  CHECK(state[0].sum() == Approx(200).epsilon(0.01));
  CHECK(state[2].sum() == Approx(500).epsilon(0.01));
  // A stage whose own unequal slices do not fit is divided anew.
  const UnlikeDevices smaller(100);
  CHECK(
      state_bytes(smaller.instance, with_slices_by_room(smaller.instance, sliced,
                                                        memory_bytes(smaller.instance, sliced)))[0]
          .sum() == Approx(100).epsilon(0.01));
}

TEST_CASE("a stage that fits, that has groups, or whose slices would not fit keeps what it has",
          "[cost]") {
  CHECK(UnlikeDevices(400).sliced().stages[0].zero_slices.empty());
  UnlikeDevices grouped(200);
  grouped.plan.stages[0].zero_groups = {{0, 2}, {2, 4}};
  CHECK(grouped.sliced().stages[0].zero_slices.empty());
  UnlikeDevices full(200);
  full.cluster.device_kinds[1].memory = 450;  // 1300 bytes in all
  CHECK(full.sliced().stages[0].zero_slices.empty());
}

}  // namespace
}  // namespace pptrain
