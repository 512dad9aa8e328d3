// The clusters of inputs/clusters against the tables and sentences of the papers.
#include <algorithm>
#include <filesystem>
#include <map>

#include "cluster/cluster.hpp"
#include "cluster/read.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

constexpr double gbit = 1.25e8;  // bytes per second
constexpr double gb = 1e9;

/// Nodes of one kind as a paper describes them.
struct Nodes {
  int count;
  int devices;
  std::string kind;
  double memory;  // bytes
  double link;    // bytes per second; 0: one device
  double uplink;  // bytes per second
};

struct PaperCluster {
  std::string name;
  std::vector<Nodes> nodes;
};

const std::vector<PaperCluster>& paper_clusters() {
  static const std::vector<PaperCluster> clusters = {
      // AMP, section 4.3
      {"aws-homogeneous", {{4, 4, "t4", 16 * gb, 50 * gbit, 50 * gbit}}},
      {"aws-heterogeneous",
       {{3, 4, "v100", 16 * gb, 170 * gbit, 10 * gbit},
        {1, 4, "t4", 16 * gb, 50 * gbit, 50 * gbit}}},
      {"aws-heterogeneous-model", {{4, 4, "v100", 16 * gb, 170 * gbit, 10 * gbit}}},
      // DAPPLE, tables III and V, section VI
      {"dapple-a", {{2, 8, "v100", 16 * gb, 130 * gb, 25 * gbit}}},
      {"dapple-a-4x8", {{4, 8, "v100", 16 * gb, 130 * gb, 25 * gbit}}},
      {"dapple-b", {{16, 1, "v100", 16 * gb, 0, 25 * gbit}}},
      {"dapple-c", {{16, 1, "v100", 16 * gb, 0, 10 * gbit}}},
      // Whale, section 5
      {"whale-8v100-8p100",
       {{1, 8, "v100-32gb", 32 * gb, 150 * gb, 50 * gbit},
        {1, 8, "p100", 16 * gb, 15.75 * gb, 50 * gbit}}},
      {"whale-4v100-4p100",
       {{1, 4, "v100-32gb", 32 * gb, 150 * gb, 50 * gbit},
        {1, 4, "p100", 16 * gb, 15.75 * gb, 50 * gbit}}},
      {"whale-v100-4x8", {{4, 8, "v100-32gb", 32 * gb, 150 * gb, 50 * gbit}}},
      {"whale-v100-32x8", {{32, 8, "v100-32gb", 32 * gb, 150 * gb, 50 * gbit}}},
      {"whale-v100-64x8", {{64, 8, "v100-32gb", 32 * gb, 150 * gb, 50 * gbit}}},
      // ZeroPP and Alpa, evaluation
      {"zeropp-8x8", {{8, 8, "a800", 80 * gb, 200 * gb, 200 * gbit}}},
      {"alpa-8x8", {{8, 8, "v100", 16 * gb, 150 * gb, 25 * gbit}}},
      {"alpa-2x8", {{2, 8, "v100", 16 * gb, 150 * gb, 25 * gbit}}},
      // Sailor, its measured bandwidths
      {"sailor-clariden", {{32, 4, "gh200-96gb", 96 * gb, 125.5 * gb, 92.55 * gb}}},
  };
  return clusters;
}

const std::string folder = source_file("inputs/clusters/");

/// Devices, links and uplinks of the nodes, which are numbered from `node` on.
void check_nodes(const Cluster& cluster, const Nodes& nodes, int node) {
  for (int i = 0; i < nodes.count; ++i) {
    const std::vector<DeviceId> devices = cluster.devices_of_node(node + i);
    REQUIRE(static_cast<int>(devices.size()) == nodes.devices);
    for (const DeviceId device : devices) {
      CHECK(cluster.kind_of(device).name == nodes.kind);
      CHECK(cluster.kind_of(device).memory == nodes.memory);
    }
    if (nodes.devices > 1)
      CHECK(cluster.bandwidth(devices.front(), devices.back()) == Approx(nodes.link));
    CHECK(cluster.group_of_node(node + i).uplink.bandwidth == Approx(nodes.uplink));
  }
}

/// A pair of nodes has the slower of their uplinks.
void check_uplinks(const Cluster& cluster) {
  for (int a = 0; a < cluster.num_nodes(); ++a) {
    for (int b = 0; b < a; ++b) {
      const double slower = std::min(cluster.group_of_node(a).uplink.bandwidth,
                                     cluster.group_of_node(b).uplink.bandwidth);
      CHECK(cluster.bandwidth(cluster.devices_of_node(a).back(),
                              cluster.devices_of_node(b).front()) == slower);
    }
  }
}

TEST_CASE("the clusters of the papers have their devices and links", "[cluster][inputs]") {
  for (const PaperCluster& paper : paper_clusters()) {
    CAPTURE(paper.name);
    const Cluster cluster = read_cluster(folder + paper.name + ".toml");
    CHECK(cluster.name == paper.name);
    CHECK(cluster.emulate == Emulate::timing);
    int num_nodes = 0;
    int num_devices = 0;
    for (const Nodes& nodes : paper.nodes) {
      check_nodes(cluster, nodes, num_nodes);
      num_nodes += nodes.count;
      num_devices += nodes.count * nodes.devices;
    }
    CHECK(cluster.num_nodes() == num_nodes);
    CHECK(cluster.num_devices() == num_devices);
    check_uplinks(cluster);
  }
}

TEST_CASE("every cluster file is held to its paper", "[cluster][inputs]") {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".toml") continue;
    CAPTURE(entry.path().string());
    CHECK(std::any_of(
        paper_clusters().begin(), paper_clusters().end(),
        [&](const PaperCluster& paper) { return paper.name == entry.path().stem().string(); }));
  }
}

TEST_CASE("a device kind of one name is the same in every cluster file", "[cluster][inputs]") {
  std::map<std::string, DeviceKind> kinds;
  for (const PaperCluster& paper : paper_clusters()) {
    for (const DeviceKind& kind : read_cluster(folder + paper.name + ".toml").device_kinds) {
      CAPTURE(paper.name, kind.name);
      const DeviceKind& first = kinds.insert({kind.name, kind}).first->second;
      CHECK(kind.memory == first.memory);
      CHECK(kind.flops == first.flops);
      CHECK(kind.memory_bandwidth == first.memory_bandwidth);
      CHECK(kind.flops.contains("fp32"));  // analytic profiles need the rates
      CHECK(kind.flops.contains("fp16"));
      CHECK(kind.memory_bandwidth > 0.0);
    }
  }
}

}  // namespace
}  // namespace pptrain
