#include "planners/meshes/tiling.hpp"

#include <set>

#include "cost/instances.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("a tiling covers every device once with straight groups", "[planners]") {
  const Cluster cluster = nodes_of(4, 4);
  const DeviceMesh mesh(cluster);
  CHECK(mesh.num_rows() == 4);
  CHECK(mesh.num_columns() == 4);
  Draws draws("tiling test");
  std::set<std::vector<std::vector<DeviceId>>> seen;  // dominoes of two devices
  for (const Grid& grid : grids_of(16, {})) {
    for (int round = 0; round < 20; ++round) {
      INFO(to_string(grid));
      const auto tiling = sample_tiling(mesh, grid.data, grid.tensor, draws);
      REQUIRE(tiling.has_value());
      REQUIRE(static_cast<int>(tiling->size()) == grid.pipeline);
      std::set<int> used;
      for (const Domino& domino : *tiling) {
        CHECK(domino.height * domino.width == grid.data * grid.tensor);
        const DeviceRows devices = devices_of(mesh, domino, grid.tensor);
        REQUIRE(static_cast<int>(devices.size()) == grid.data);
        for (const auto& row : devices) {
          REQUIRE(static_cast<int>(row.size()) == grid.tensor);
          for (const DeviceId device : row) used.insert(device.value);
        }
        if (grid.data == 1 && grid.tensor == 2) seen.insert(devices);
      }
      CHECK(used.size() == 16);
    }
  }
  // Two devices next to each other in a node, or at the same place in neighbouring nodes: 12 + 12
  // pairs.
  CHECK(seen.size() == 24);
}

TEST_CASE("an upright domino has its tensor-parallel groups in a node, a lying one across nodes",
          "[planners]") {
  const Cluster cluster = nodes_of(4, 4);
  const DeviceMesh mesh(cluster);
  const auto ids = [](const DeviceRows& devices) {
    std::vector<std::vector<int>> numbers;
    for (const auto& row : devices) {
      numbers.emplace_back();
      for (const DeviceId device : row) numbers.back().push_back(device.value);
    }
    return numbers;
  };
  const std::vector<std::vector<int>> upright = {{5, 6}, {9, 10}};
  CHECK(ids(devices_of(mesh, {1, 1, 2, 2, GroupDirection::down}, 2)) == upright);
  const std::vector<std::vector<int>> lying = {{5, 9}, {6, 10}};
  CHECK(ids(devices_of(mesh, {1, 1, 2, 2, GroupDirection::across}, 2)) == lying);
}

TEST_CASE("nodes of different sizes leave gaps in the mesh, which no domino covers", "[planners]") {
  Cluster cluster = nodes_of(2, 4);
  add_slow_node(cluster, 2);
  const DeviceMesh mesh(cluster);
  CHECK_FALSE(mesh.has(2, 0));  // kinds are sorted by name: "t" comes first
  CHECK(mesh.has(3, 1));
  CHECK(mesh.device(0, 0).value == 8);
  Draws draws("tiling test");
  const auto pairs = sample_tiling(mesh, 2, 1, draws);
  REQUIRE(pairs.has_value());
  CHECK(pairs->size() == 5);
  CHECK_FALSE(sample_tiling(mesh, 10, 1, draws).has_value());  // 5 x 2 and 10 x 1 are no part of it
}

}  // namespace
}  // namespace pptrain
