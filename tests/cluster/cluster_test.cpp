#include "cluster/cluster.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "cluster/read.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

constexpr double gbit = 1.25e8;  // bytes per second

Cluster amp_heterogeneous() {
  return read_cluster(source_file("inputs/clusters/aws-heterogeneous.toml"));
}

TEST_CASE("AMP's heterogeneous cluster has the paper's bandwidths", "[cluster]") {
  const Cluster cluster = amp_heterogeneous();
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

const std::string tree = R"(
name = "tree"
[[device]]
kind = "g"
memory = "1 GiB"
[[node]]
kind = "a"
count = 2
devices = { kind = "g", count = 2 }
link = { bandwidth = 1000, latency = 1 }
uplink = { bandwidth = 100, latency = 2 }
switch = "rack0"
[[node]]
kind = "b"
devices = { kind = "g" }
uplink = { bandwidth = 80, latency = 3 }
switch = "rack1"
[[node]]
kind = "c"
devices = { kind = "g" }
uplink = { bandwidth = 500, latency = 1 }
switch = "nowhere"
[[switch]]
name = "rack0"
uplink = { bandwidth = 60, latency = 5 }
switch = "row"
[[switch]]
name = "rack1"
switch = "row"
[[switch]]
name = "row"
uplink = { bandwidth = 40, latency = 7 }
)";

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

TEST_CASE("a cluster reads back as it was written", "[cluster][toml]") {
  Cluster cluster = parse_cluster(tree, "c.toml");
  cluster.emulate = Emulate::timing;
  cluster.device_kinds[0].memory = 1e10 / 3.0;
  cluster.device_kinds[0].flops = {{"bf16", 1.25e14}, {"fp32", 1.0 / 3.0}};
  cluster.device_kinds[0].memory_bandwidth = 9e11;
  cluster.groups[0].cores = 1;
  cluster.groups[0].core_seconds = {5e-6, 1e-4 / 3.0};
  cluster.groups[0].hosts = {"n\"0", "n1"};
  cluster.groups[0].link = {170 * gbit, 5e-6};
  cluster.finish("made");
  const std::string text = write_cluster(cluster);
  const Cluster back = parse_cluster(text, "written");
  CHECK(write_cluster(back) == text);
  CHECK(back.emulate == Emulate::timing);
  CHECK(back.device_kinds[0].memory == 1e10 / 3.0);
  CHECK(back.device_kinds[0].flops == cluster.device_kinds[0].flops);
  CHECK(back.groups[0].link.bandwidth == 170 * gbit);
  CHECK(back.groups[0].link.latency == 5e-6);
  CHECK(back.groups[0].hosts == cluster.groups[0].hosts);
  CHECK(back.groups[0].shares_cores());
  CHECK(back.groups[0].core_seconds.message == 5e-6);
  CHECK(back.groups[0].core_seconds.wait == 1e-4 / 3.0);
  CHECK(back.switches[0].parent == "row");
  CHECK(text.find("\"170 Gbit/s\"") != std::string::npos);
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

TEST_CASE("a cluster is described by a line for each kind of node", "[cluster]") {
  ::setenv("COLUMNS", "200", 1);
  const std::string text = describe_cluster(amp_heterogeneous());
  ::unsetenv("COLUMNS");
  CHECK(text.starts_with("cluster aws-heterogeneous: 16 devices on 4 nodes\n"));
  CHECK(text.find("4 x v100") != std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\n') == 4);
}

std::string refused(const std::string& from, const std::string& to) {
  return complaint_of([&] { parse_cluster(replaced(tree, from, to), "c.toml"); });
}

TEST_CASE("each wrong value of a cluster is refused with its line", "[cluster][toml]") {
  CHECK(refused("memory = \"1 GiB\"", "memory = \"1 Gib\"").starts_with("c.toml:5: "));
  CHECK(refused("memory = \"1 GiB\"", "memory = 0")
            .starts_with("c.toml:5: device.memory must be positive"));
  CHECK(refused("memory = \"1 GiB\"", "memry = 1").find("memory") != std::string::npos);
  CHECK(refused("bandwidth = 100,", "bandwidth = 0,")
            .starts_with("c.toml:11: node.uplink.bandwidth must be positive"));
  CHECK(refused("latency = 2", "latency = -2")
            .starts_with("c.toml:11: node.uplink.latency must not be negative"));
  // What a sum of costs would overflow by, and an integer that no double has.
  for (const std::string memory : {"1e19", "1e308", "4611686018427387904", "9223372036854775807"}) {
    CHECK(refused("memory = \"1 GiB\"", "memory = " + memory)
              .starts_with("c.toml:5: device.memory is too large"));
  }
  CHECK(refused("memory = \"1 GiB\"", "memory = 5e-324")
            .starts_with("c.toml:5: device.memory is too small"));
  CHECK(refused("bandwidth = 100,", "bandwidth = 1e300,")
            .starts_with("c.toml:11: node.uplink.bandwidth is too large"));
  CHECK(refused("bandwidth = 100,", "bandwidth = 1e-30,")
            .starts_with("c.toml:11: node.uplink.bandwidth is too small"));
  CHECK(refused("latency = 2", "latency = 1e300")
            .starts_with("c.toml:11: node.uplink.latency is too large"));
  CHECK(refused("latency = 2", "latencey = 2").find("did you mean node.uplink.latency?") !=
        std::string::npos);
  CHECK(
      refused("count = 2\n", "count = 0\n").starts_with("c.toml:8: node.count must be at least 1"));
  CHECK(refused("count = 2 }", "count = 0 }").starts_with("c.toml:9: "));
  CHECK(refused("count = 2 }", "count = \"2\" }").starts_with("c.toml:9: "));
  CHECK(refused("devices = { kind = \"g\", count = 2 }", "").find("devices is missing") !=
        std::string::npos);
  CHECK(refused("name = \"tree\"", "name = \"tree\"\nemulate = \"number\"")
            .find("did you mean \"numbers\"?") != std::string::npos);
  CHECK(refused("{ kind = \"g\", count = 2 }", "{ kind = \"gg\", count = 2 }") ==
        "c.toml:9: unknown device kind \"gg\" (described are g); did you mean \"g\"?");
  CHECK(refused("link = { bandwidth = 1000, latency = 1 }\n", "")
            .starts_with("c.toml:6: the node has no link (its 2 devices"));
  CHECK(refused("uplink = { bandwidth = 80, latency = 3 }\n", "")
            .starts_with("c.toml:13: the node has no uplink"));
  CHECK(refused("name = \"rack1\"", "name = \"rack0\"")
            .find("the switch \"rack0\" is described twice") != std::string::npos);
  CHECK(
      refused("name = \"row\"", "name = \"row\"\nswitch = \"rack0\"").find("hangs below itself") !=
      std::string::npos);
  CHECK(refused("kind = \"g\"\nmemory", "kind = \"\"\nmemory")
            .starts_with("c.toml:4: a device kind needs a name"));
  CHECK(
      refused("count = 2\n", "count = 2\nhosts = [\"only\"]\n").find("1 host names for 2 nodes") !=
      std::string::npos);
  CHECK(refused("count = 2\n", "count = 2\ncores = -1\n")
            .starts_with("c.toml:9: node.cores must be at least 0"));
  CHECK(refused("count = 2\n", "count = 2\ncore_seconds = { message = -1 }\n")
            .starts_with("c.toml:9: node.core_seconds.message must not be negative"));
  CHECK(refused("count = 2\n", "count = 2000000000\n").find("more than 10000000 devices") !=
        std::string::npos);
  CHECK(complaint_of([] {
          parse_cluster("name = \"empty\"", "c.toml");
        }).starts_with("c.toml: the cluster has no nodes"));
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
