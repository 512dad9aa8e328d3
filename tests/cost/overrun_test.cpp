#include "cost/overrun.hpp"

#include "cluster/reserve.hpp"
#include "cost/instances.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

constexpr double gibibyte = 1 << 30;

TEST_CASE("the text of an overrun names device, kind, need, memory, reserve and what lacks",
          "[cost]") {
  Cluster cluster = nodes_of(1, 2, 15 * gibibyte);
  cluster.device_kinds[0].name = cluster.groups[0].device_kind = "t4";
  cluster.finish("made");
  CHECK(overrun_text(cluster, DeviceId(1), 17 * gibibyte) ==
        "device 1 (t4) needs 17 GiB of its 15 GiB, 2 GiB too much");
  set_reserve(cluster.device_kinds[0], gibibyte);
  CHECK(overrun_text(cluster, DeviceId(1), 15 * gibibyte) ==
        "device 1 (t4) needs 15 GiB of its 14 GiB beside a reserve of 1 GiB, 1 GiB too much");
}

TEST_CASE("the device that lacks most is not the one that needs most", "[cost]") {
  Cluster cluster = nodes_of(1, 2, 1000.0);
  add_slow_node(cluster, 2, 400.0);
  CHECK(most_overrun(cluster, {1100.0, 1000.0, 600.0, 400.0}) == DeviceId(2));
  CHECK(largest_overrun(cluster, {1100.0, 1000.0, 600.0, 400.0}) ==
        "device 2 (t) needs 600 B of its 400 B, 200 B too much");
  CHECK_FALSE(most_overrun(cluster, {1000.0, 1000.0, 400.0, 400.0}).valid());
  CHECK(largest_overrun(cluster, {1000.0, 1000.0, 400.0, 400.0}).empty());
}

/// A layer of 100 parameters of 14 bytes, 10 bytes of activations and a workspace of 30 bytes.
Profile layer_with_workspace() {
  Profile profile;
  profile.layers = {layer("a", 1, 1, 1)};
  profile.layers[0].parameters = 100;
  profile.layers[0].stored_bytes = 10;
  profile.bytes_per_parameter = {2, 4, 8};
  profile.workspace_bytes = 30;
  return profile;
}

TEST_CASE("an overrun by parts says what the bytes of the device are for", "[cost]") {
  const Profile profile = layer_with_workspace();
  Cluster cluster = nodes_of(1, 2, 1000.0);
  const Instance instance = {profile, cluster, 4};
  Plan plan = uniform_plan({{0, 1}}, 2, 1, 4, 4, "gpipe");  // two samples on each
  const std::string state = "weights 200 B, gradients 400 B, optimizer state 800 B, ";
  CHECK(overrun_by_parts(instance, plan, memory_bytes(instance, plan)) ==
        "device 0 (v) needs 1.42 KiB of its 1000 B, 450 B too much: " + state +
            "activations 20 B, for a moment 30 B");
  CHECK(overrun_by_parts(instance, plan, DeviceId(1), 1500.0) ==
        "device 1 (v) needs 1.46 KiB of its 1000 B, 500 B too much: " + state +
            "activations 20 B, for a moment 80 B");
  plan.stages[0].zero_stage = 1;
  plan.stages[0].offload_activations = true;
  cluster.device_kinds[0].memory = 900.0;
  CHECK(overrun_by_parts(instance, plan, memory_bytes(instance, plan)) ==
        "device 0 (v) needs 1.01 KiB of its 900 B, 130 B too much: weights 200 B, gradients 400 B, "
        "optimizer state 400 B, for a moment 30 B");
  cluster.device_kinds[0].memory = 1030.0;
  CHECK(overrun_by_parts(instance, plan, memory_bytes(instance, plan)).empty());
}

}  // namespace
}  // namespace pptrain
