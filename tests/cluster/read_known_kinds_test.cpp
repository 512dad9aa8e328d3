// What cluster files may leave out of kinds that the catalogues know.
#include <map>

#include "cluster/device_catalogue.hpp"
#include "cluster/expression.hpp"
#include "cluster/read.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

constexpr double gb = 1e9;
constexpr double tera = 1e12;

/// A kind of device in a cluster of one, with `lines` beside its name.
DeviceKind kind_with(const std::string& kind, const std::string& lines) {
  const std::string text = "[[device]]\nkind = \"" + kind + "\"\n" + lines +
                           "\n[[node]]\ndevices = { kind = \"" + kind + "\" }\n";
  return parse_cluster(text, "c.toml").device_kinds.front();
}

void check_equal(const DeviceKind& a, const DeviceKind& b) {
  CHECK(a.memory == b.memory);
  CHECK(a.memory_bandwidth == b.memory_bandwidth);
  CHECK(a.flops == b.flops);
  CHECK(a.reserve == b.reserve);
}

TEST_CASE("a cluster file may leave out what the catalogue says", "[cluster][catalogue]") {
  const DeviceKind said = kind_with("h100-sxm-80gb", R"(memory = "80 GB"
memory_bandwidth = "3350 GB/s"
flops = { fp32 = "67 TFLOP/s", tf32 = "494.7 TFLOP/s", bf16 = "989.4 TFLOP/s", fp16 = "989.4 TFLOP/s", fp8 = "1978.9 TFLOP/s" })");
  check_equal(kind_with("h100-sxm-80gb", ""), said);
  check_equal(kind_with("nvidia-h100-80gb-hbm3", ""), said);
  CHECK(kind_with("nvidia-h100-80gb-hbm3", "").name == "nvidia-h100-80gb-hbm3");
}

TEST_CASE("devices that the catalogue knows need no description, and their nodes no links",
          "[cluster][catalogue]") {
  const Cluster cluster = parse_cluster(
      "[[node]]\ncount = 2\ndevices = { kind = \"h100-sxm-80gb\", count = 4 }\n"
      "uplink = { bandwidth = \"50 GB/s\" }\n"
      "[[node]]\ndevices = { kind = \"h100-sxm-80gb\", count = 8 }\n"
      "uplink = { bandwidth = \"50 GB/s\" }\n"
      "[[node]]\ndevices = { kind = \"nvidia-h100-80gb-hbm3\" }\n"
      "uplink = { bandwidth = \"50 GB/s\" }\n",
      "c.toml");
  const CatalogueDevice& known = *catalogue_device("h100-sxm-80gb");
  REQUIRE(cluster.device_kinds.size() == 2);
  CHECK(cluster.device_kinds[0].name == "h100-sxm-80gb");
  CHECK(cluster.device_kinds[1].name == "nvidia-h100-80gb-hbm3");
  for (const DeviceKind& kind : cluster.device_kinds) check_equal(kind, known.kind);
  for (const int group : {0, 1}) {
    CHECK(cluster.groups[group].link.bandwidth == known.link.bandwidth);
    CHECK(cluster.groups[group].host_link.bandwidth == known.host_link.bandwidth);
  }
  CHECK(cluster.groups[2].link.bandwidth == 0.0);  // a single device
}

TEST_CASE("links of devices that a file describes are not the catalogue's",
          "[cluster][catalogue]") {
  const std::string text =
      "[[device]]\nkind = \"h100-sxm-80gb\"\n[[node]]\ndevices = { kind = \"h100-sxm-80gb\" }\n";
  CHECK(parse_cluster(text, "c.toml").groups[0].host_link.bandwidth == 0.0);
  CHECK(
      complaint_of(
          [] { parse_cluster("[[node]]\ndevices = { kind = \"h100-smx-80gb\" }\n", "c.toml"); }) ==
      "c.toml:2: unknown device kind \"h100-smx-80gb\" (no [[device]] is described); did you mean "
      "\"h100-sxm-80gb\"?");
  CHECK(
      complaint_of([] { parse_cluster("[[node]]\ndevices = { kind = \"a100\" }\n", "c.toml"); })
          .ends_with("did you mean \"a100-sxm-40gb\" or \"a100-sxm-80gb\" or \"a100-pcie-40gb\" or "
                     "\"a100-pcie-80gb\"?"));
}

TEST_CASE("a misspelt key of devices is told before they are missed", "[cluster][catalogue]") {
  CHECK(complaint_of([] {
          parse_cluster("[[node]]\nkind = \"a\"\ndevice = { kind = \"a100-sxm-40gb\" }\n",
                        "c.toml");
        }) == "c.toml:3: node.device is not known; did you mean node.devices?");
}

TEST_CASE("nodes of a kind that the catalogue knows need neither devices nor links",
          "[cluster][catalogue]") {
  const Cluster said = parse_cluster_expression("2x dgx-h100, 1x dgx-a100-40");
  const Cluster cluster = parse_cluster(
      "[[node]]\nkind = \"dgx-h100\"\ncount = 2\nmtbf = \"5000 h\"\n[[node]]\nkind = "
      "\"DGX_A100_40\"\n"
      "uplink = { bandwidth = \"10 GB/s\" }\n",
      "c.toml");
  REQUIRE(cluster.groups.size() == 2);
  REQUIRE(cluster.device_kinds.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    check_equal(cluster.device_kinds[i], said.device_kinds[i]);
    CHECK(cluster.groups[i].device_kind == said.groups[i].device_kind);
    CHECK(cluster.groups[i].num_devices == 8);
    CHECK(cluster.groups[i].link.bandwidth == said.groups[i].link.bandwidth);
    CHECK(cluster.groups[i].host_link.bandwidth == said.groups[i].host_link.bandwidth);
  }
  CHECK(cluster.groups[0].count == 2);
  CHECK(cluster.groups[0].uplink.bandwidth == said.groups[0].uplink.bandwidth);
  CHECK(cluster.groups[0].mtbf == 5000.0 * 3600.0);
  CHECK(cluster.groups[1].uplink.bandwidth == 10 * gb);
}

TEST_CASE("a file describes the devices of known nodes otherwise, or half of them",
          "[cluster][catalogue]") {
  const std::string nodes = "[[node]]\nkind = \"dgx-h100\"\n";
  const Cluster slower =
      parse_cluster("[[device]]\nkind = \"h100-sxm-80gb\"\nmemory = \"64 GB\"\n" + nodes, "c.toml");
  REQUIRE(slower.device_kinds.size() == 1);
  CHECK(slower.device_kinds.front().memory < 64.5 * gb);
  const Cluster half = parse_cluster("[[device]]\nkind = \"h100-sxm-80gb\"\n" + nodes +
                                         "devices = { kind = \"h100-sxm-80gb\", count = 4 }\n"
                                         "link = { bandwidth = \"450 GB/s\" }\n",
                                     "c.toml");
  CHECK(half.groups.front().num_devices == 4);
  CHECK(half.groups.front().uplink.bandwidth == 0.0);
  CHECK(complaint_of([] { parse_cluster("[[node]]\nkind = \"dgx-h10\"\n", "c.toml"); }) ==
        "c.toml:1: node.devices is missing (\"dgx-h10\" is no kind of node whose devices are "
        "known); add devices = { "
        "kind = \"...\", count = ... }; or did you mean kind = \"dgx-h100\"?");
}

TEST_CASE("what a cluster file says wins over the catalogue", "[cluster][catalogue]") {
  const DeviceKind known = catalogue_device("l40s")->kind;
  const DeviceKind smaller = kind_with("l40s", "memory = \"40 GB\"");
  CHECK(smaller.memory == 40 * gb);
  CHECK(smaller.flops == known.flops);
  const DeviceKind measured = kind_with("l40s", "flops = { bf16 = \"300 TFLOP/s\" }");
  CHECK(measured.flops == std::map<std::string, double>{{"bf16", 300 * tera}});
  CHECK(measured.memory_bandwidth == known.memory_bandwidth);
  CHECK(kind_with("l40s", "reserve = \"1 GB\"").memory == 47 * gb);
  CHECK(kind_with("l40s", "flops = {}").flops.empty());
}

TEST_CASE("a kind without rates is written as one without, whatever its name",
          "[cluster][catalogue]") {
  for (const char* lines :
       {"flops = {}", "flops = { fp16 = \"9 TFLOP/s\" }", "memory = \"5 GB\"\nflops = {}", ""}) {
    CAPTURE(lines);
    const std::string text = "[[device]]\nkind = \"l40s\"\n" + std::string(lines) +
                             "\n[[node]]\ndevices = { kind = \"l40s\" }\n";
    const Cluster cluster = parse_cluster(text, "c.toml");
    check_equal(parse_cluster(write_cluster(cluster), "written").device_kinds.front(),
                cluster.device_kinds.front());
  }
}

TEST_CASE("of other kinds a file says all, as ever", "[cluster][catalogue]") {
  const DeviceKind own = kind_with("a100", "memory = \"40 GiB\"");
  CHECK(own.flops.empty());
  CHECK(own.memory_bandwidth == 0.0);
  CHECK(complaint_of([] { kind_with("fast", ""); }) ==
        "c.toml:1: device.memory is missing (it has no default); add memory = ...");
  CHECK(complaint_of([] { kind_with("h100", ""); }) ==
        "c.toml:2: device.memory is missing (\"h100\" is no kind whose memory is known); add "
        "memory = \"... GiB\"; or "
        "did "
        "you mean kind = \"h100-pcie-80gb\" or \"h100-sxm-80gb\"?");
  CHECK(complaint_of([] { kind_with("l40x", ""); }).find("did you mean kind = \"l40s\"?") !=
        std::string::npos);
}

}  // namespace
}  // namespace pptrain
