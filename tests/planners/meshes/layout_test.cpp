#include "planners/meshes/layout.hpp"

#include <random>

#include "cost/instances.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// Up to four groups of nodes of all sizes under up to three switches, some below others.
Cluster random_cluster(std::mt19937& random) {
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  Cluster cluster;
  cluster.device_kinds = {{"v", 100.0, {}, 0.0}, {"t", 50.0, {}, 0.0}};
  const int num_switches = pick(0, 3);
  for (int s = 0; s < num_switches; ++s) {
    cluster.switches.push_back({fmt::format("s{}", s), {}, s > 0 && pick(0, 1) == 0 ? "s0" : ""});
    if (pick(0, 2) > 0) cluster.switches.back().uplink = {pick(1, 20) * 10.0, pick(0, 5) * 0.1};
  }
  const int num_groups = pick(1, 4);
  for (int g = 0; g < num_groups; ++g) {
    NodeGroup group;
    group.kind = fmt::format("n{}", g);
    group.count = pick(1, 9);
    group.device_kind = pick(0, 1) == 0 ? "v" : "t";
    group.num_devices = pick(1, 8);
    group.link = {pick(1, 9) * 100.0, pick(0, 3) * 0.01};
    group.uplink = {pick(1, 9) * 10.0, pick(0, 3) * 0.1};
    if (num_switches > 0 && pick(0, 2) > 0)
      group.switch_name = fmt::format("s{}", pick(0, num_switches - 1));
    cluster.groups.push_back(group);
  }
  cluster.finish("made");
  return cluster;
}

TEST_CASE(
    "the default placement sees the same kinds of replicas and links as a look at every device",
    "[planners]") {
  std::mt19937 random(11);
  int num_placed = 0;
  for (int round = 0; round < 400; ++round) {
    const Cluster cluster = random_cluster(random);
    for (const Grid& grid : grids_of(cluster.num_devices(), {})) {
      std::vector<DeviceRows> meshes;
      for (const Stage& stage : uniform_plan(even_division(grid.pipeline, grid.pipeline), grid.data,
                                             grid.tensor, grid.data, grid.data, "1f1b")
                                    .stages) {
        meshes.push_back(stage.devices);
      }
      INFO("round " << round << ", " << to_string(grid));
      const GridLayout fast = place(cluster, grid);
      const GridLayout plain = place(cluster, grid, meshes);
      REQUIRE(fast.stage_kinds == plain.stage_kinds);
      REQUIRE(fast.kinds == plain.kinds);
      ++num_placed;
    }
  }
  CHECK(num_placed > 4000);
}

}  // namespace
}  // namespace pptrain
