#include "cluster/cluster.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "cluster/read.hpp"
#include "cluster/switch_tree.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

constexpr double gbit = 1.25e8;  // bytes per second

TEST_CASE("AMP's heterogeneous cluster has the paper's bandwidths", "[cluster]") {
  const Cluster cluster = read_cluster(source_file("inputs/clusters/aws-heterogeneous.toml"));
  CHECK(cluster.num_devices() == 16);
  CHECK(cluster.num_nodes() == 4);
  CHECK(cluster.kind_of(DeviceId(11)).name == "v100");
  CHECK(cluster.kind_of(DeviceId(12)).name == "t4");
  CHECK(cluster.kind_of(DeviceId(12)).memory == 16e9);
  CHECK(cluster.node_of(DeviceId(11)) == 2);
  CHECK(cluster.bandwidth(DeviceId(0), DeviceId(3)) == Approx(170 * gbit));
  CHECK(cluster.bandwidth(DeviceId(3), DeviceId(4)) == Approx(10 * gbit));
  CHECK(cluster.bandwidth(DeviceId(12), DeviceId(15)) == Approx(50 * gbit));
  CHECK(cluster.bandwidth(DeviceId(12), DeviceId(0)) == Approx(10 * gbit));  // the slower uplink
  CHECK(cluster.latency(DeviceId(12), DeviceId(0)) == 0.0);
  CHECK(cluster.devices_of_node(3) ==
        std::vector<DeviceId>{DeviceId(12), DeviceId(13), DeviceId(14), DeviceId(15)});
}

TEST_CASE("AMP's homogeneous cluster is one network of 50 Gbit/s", "[cluster]") {
  const Cluster cluster = read_cluster(source_file("inputs/clusters/aws-homogeneous.toml"));
  CHECK(cluster.num_devices() == 16);
  CHECK(cluster.bandwidth(DeviceId(0), DeviceId(1)) == Approx(50 * gbit));
  CHECK(cluster.bandwidth(DeviceId(0), DeviceId(15)) == Approx(50 * gbit));
}

TEST_CASE("bandwidth is the least and latency the largest on the path through the switches",
          "[cluster]") {
  const Cluster c = parse_cluster(tree, "c.toml");
  const auto bandwidth = [&](int a, int b) { return c.bandwidth(DeviceId(a), DeviceId(b)); };
  const auto latency = [&](int a, int b) { return c.latency(DeviceId(a), DeviceId(b)); };
  // Devices 0, 1 and 2, 3 in the nodes a; 4 in b; 5 in c.
  CHECK(bandwidth(0, 1) == 1000.0);
  CHECK(latency(0, 1) == 1.0);
  CHECK(bandwidth(1, 2) == 100.0);  // both uplinks to rack0
  CHECK(latency(1, 2) == 2.0);
  CHECK(bandwidth(3, 4) == 60.0);  // min(100, rack0's 60, rack1 limits nothing, 80)
  CHECK(latency(3, 4) == 5.0);
  CHECK(bandwidth(4, 5) == 40.0);  // min(80, row's 40, 500): "nowhere" hangs on the root
  CHECK(latency(4, 5) == 7.0);
  CHECK(latency(5, 0) == 7.0);
  CHECK(bandwidth(2, 2) == std::numeric_limits<double>::infinity());
  CHECK(latency(2, 2) == 0.0);
}

TEST_CASE("the slowest link of a group is that of its slowest pair", "[cluster]") {
  const Cluster c = parse_cluster(tree, "c.toml");
  for (int members = 1; members < 64; ++members) {  // every subset of the six devices
    std::vector<DeviceId> group;
    for (int d = 0; d < 6; ++d) {
      if ((members >> d) & 1) group.emplace_back(d);
    }
    Link slowest = {std::numeric_limits<double>::infinity(), 0.0};
    for (const DeviceId a : group) {
      for (const DeviceId b : group) {
        slowest.bandwidth = std::min(slowest.bandwidth, c.bandwidth(a, b));
        slowest.latency = std::max(slowest.latency, c.latency(a, b));
      }
    }
    CHECK(c.slowest_link(group).bandwidth == slowest.bandwidth);
    CHECK(c.slowest_link(group).latency == slowest.latency);
  }
}

TEST_CASE("a cluster of many devices needs no table of pairs", "[cluster]") {
  const Cluster c = parse_cluster(replaced(tree, "count = 2\n", "count = 1000000\n"), "c.toml");
  CHECK(c.num_devices() == 2000002);
  CHECK(c.node_of(DeviceId(1999999)) == 999999);
  CHECK(c.bandwidth(DeviceId(0), DeviceId(2000001)) == 40.0);
}

TEST_CASE("nodes of a pool share cores", "[cluster][toml]") {
  const std::string pooled =
      replaced(tree, "kind = \"b\"", "kind = \"b\"\ncores = 2\ncore_pool = \"host\"");
  const auto with = [&](const std::string& text) {
    return replaced(pooled, "kind = \"c\"", "kind = \"c\"\n" + text);
  };
  const Cluster alone = parse_cluster(pooled, "c.toml");
  CHECK_FALSE(alone.groups[1].shares_cores());
  const Cluster three = parse_cluster(
      replaced(with("cores = 2\ncore_pool = \"host\""), "kind = \"c\"", "kind = \"c\"\ncount = 2"),
      "c.toml");
  CHECK_FALSE(three.groups[0].shares_cores());
  for (const int g : {1, 2}) {
    CHECK(three.groups[g].core_sharers() == 3);
    CHECK(three.groups[g].shares_cores());
  }
  const std::string text = write_cluster(three);
  CHECK(write_cluster(parse_cluster(text, "written")) == text);
  ::setenv("COLUMNS", "200", 1);
  CHECK(describe_cluster(three).find("2 shared in host") != std::string::npos);
  ::unsetenv("COLUMNS");
  const auto refused = [&](const std::string& wrong) {
    return complaint_of([&] { parse_cluster(with(wrong), "c.toml"); });
  };
  CHECK(refused("core_pool = \"host\"").find("the core_pool \"host\" has no number of cores") !=
        std::string::npos);
  CHECK(refused("cores = 3\ncore_pool = \"host\"") ==
        "c.toml:22: 3 cores of the core_pool \"host\" (another node of it has 2); give all nodes "
        "of a pool the same "
        "number");
}

TEST_CASE("cores beyond the devices are not shared", "[cluster]") {
  NodeGroup group;
  group.num_devices = 4;
  CHECK_FALSE(group.shares_cores());
  group.cores = 4;
  CHECK_FALSE(group.shares_cores());
  group.cores = 3;
  CHECK(group.shares_cores());
}

TEST_CASE("link and uplink may be missing where nothing passes them", "[cluster]") {
  const Cluster single = parse_cluster(
      "[[device]]\nkind = \"g\"\nmemory = 1\n[[node]]\ndevices = { kind = \"g\" }\n", "c");
  CHECK(single.num_devices() == 1);
  const Cluster node = parse_cluster(
      "[[device]]\nkind = \"g\"\nmemory = 1\n[[node]]\ndevices = { kind = \"g\", count = 2 }\nlink "
      "= { bandwidth = 3 "
      "}\n",
      "c");
  CHECK(node.bandwidth(DeviceId(0), DeviceId(1)) == 3.0);
}

}  // namespace
}  // namespace pptrain
