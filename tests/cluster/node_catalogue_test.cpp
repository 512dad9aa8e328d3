#include "cluster/node_catalogue.hpp"

#include <set>

#include "cluster/device_catalogue.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

constexpr double gbit = 1.25e8;

TEST_CASE("nodes have the devices and the network that their makers publish",
          "[cluster][catalogue]") {
  struct Published {
    const char* name;
    const char* device;
    int devices;
    double gbits;
  };
  const std::vector<Published> published = {
      {"dgx-a100-40", "a100-sxm-40gb", 8, 1600},
      {"dgx-a100-80", "a100-sxm-80gb", 8, 1600},
      {"dgx-h100", "h100-sxm-80gb", 8, 3200},
      {"dgx-h200", "h200", 8, 3200},
      {"dgx-b200", "b200", 8, 3200},
      {"gb200-nvl72", "gb200", 72, 28800},
      {"p3.16xlarge", "v100", 8, 25},
      {"p4d.24xlarge", "a100-sxm-40gb", 8, 400},
      {"p4de.24xlarge", "a100-sxm-80gb", 8, 400},
      {"p5.48xlarge", "h100-sxm-80gb", 8, 3200},
      {"g5.12xlarge", "a10g", 4, 40},
      {"g5.48xlarge", "a10g", 8, 100},
      {"a2-highgpu-8g", "a100-sxm-40gb", 8, 100},
      {"a3-highgpu-8g", "h100-sxm-80gb", 8, 800},
      {"ND96asr_v4", "a100-sxm-40gb", 8, 1600},
      {"ND96isr_H100_v5", "h100-sxm-80gb", 8, 3200},
  };
  CHECK(published.size() == node_catalogue().size());
  for (const Published& row : published) {
    CAPTURE(row.name);
    const CatalogueNode* node = catalogue_node(row.name);
    REQUIRE(node != nullptr);
    const NodeGroup group = node_group(*node, 3);
    CHECK(group.count == 3);
    CHECK(group.device_kind == row.device);
    CHECK(group.num_devices == row.devices);
    CHECK(group.uplink.bandwidth == row.gbits * gbit);
    CHECK(group.link.bandwidth == catalogue_device(row.device)->link.bandwidth);
    CHECK(group.host_link.bandwidth > 0.0);
    CHECK(node->source.find(", 20") != std::string::npos);
  }
}

TEST_CASE("a node has its names and no other's, whatever their case and separators",
          "[cluster][catalogue]") {
  std::set<std::string> names;
  for (const CatalogueNode& node : node_catalogue()) {
    CAPTURE(node.name);
    CHECK(names.insert(plain_name(node.name)).second);
    CHECK(catalogue_node(node.name) == &node);
    for (const std::string& alias : node.aliases) {
      CHECK(names.insert(alias).second);
      CHECK(catalogue_node(alias) == &node);
    }
    // An expression names either a node or a device.
    CHECK(catalogue_device(node.name) == nullptr);
  }
  REQUIRE(catalogue_node("NVIDIA DGX H100") != nullptr);
  CHECK(catalogue_node("NVIDIA DGX H100")->name == "dgx-h100");
  for (const char* none : {"", "dgx", "dgx-h10", "h100-sxm-80gb", "p5"}) {
    CAPTURE(none);
    CHECK(catalogue_node(none) == nullptr);
  }
}

}  // namespace
}  // namespace pptrain
