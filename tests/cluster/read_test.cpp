#include "cluster/read.hpp"

#include <algorithm>
#include <cstdlib>

#include "cluster/switch_tree.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

constexpr double gbit = 1.25e8;  // bytes per second

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

TEST_CASE("a cluster is described by a line for each kind of node", "[cluster]") {
  ::setenv("COLUMNS", "200", 1);
  const std::string text =
      describe_cluster(read_cluster(source_file("inputs/clusters/aws-heterogeneous.toml")));
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

TEST_CASE("a job in place of a cluster is refused with what to name", "[cluster][toml]") {
  for (const std::string section : {"job", "model", "data", "training"}) {
    CHECK(complaint_of([&] { parse_cluster("[" + section + "]\n", "j.toml"); })
              .starts_with("j.toml: this is a job and no cluster (it has [" + section +
                           "]); name a CLUSTER.toml: "));
  }
}

}  // namespace
}  // namespace pptrain
