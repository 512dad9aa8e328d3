// The catalogues of devices and nodes: published figures, and what cluster files take from them.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "cluster/device_catalogue.hpp"
#include "cluster/expression.hpp"
#include "cluster/node_catalogue.hpp"
#include "cluster/read.hpp"
#include "cluster/reserve.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

constexpr double gb = 1e9;
constexpr double tera = 1e12;
constexpr double gbit = 1.25e8;

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

TEST_CASE("devices have the figures that their makers publish", "[cluster][catalogue]") {
  struct Published {
    const char* name;
    double memory, memory_bandwidth;  // GB, GB/s
    const char* precision;
    double rate;  // dense TFLOP/s
    double link;  // GB/s one way
    double watts;
  };
  const std::vector<Published> published = {
      {"p100", 16, 732, "fp32", 9.3, 15.75, 250},
      {"v100", 16, 900, "fp16", 125, 150, 300},
      {"t4", 16, 320, "fp16", 65, 15.75, 70},
      {"a10g", 24, 600, "bf16", 70, 31.5, 300},
      {"a100-sxm-40gb", 40, 1555, "bf16", 312, 300, 400},
      {"a100-sxm-80gb", 80, 2039, "tf32", 156, 300, 400},
      {"a100-pcie-80gb", 80, 1935, "bf16", 312, 31.5, 300},
      {"a800", 80, 2039, "bf16", 312, 200, 400},
      {"rtx-3090", 24, 936, "bf16", 71, 31.5, 350},
      {"rtx-4090", 24, 1008, "bf16", 165.2, 31.5, 450},
      {"rtx-5090", 32, 1792, "bf16", 209.5, 63, 575},
      {"l4", 24, 300, "bf16", 121, 31.5, 72},
      {"l40s", 48, 864, "bf16", 362, 31.5, 350},
      {"h100-pcie-80gb", 80, 2000, "bf16", 756, 63, 350},
      {"h100-sxm-80gb", 80, 3350, "bf16", 989.4, 450, 700},
      {"h800", 80, 3350, "fp8", 1978.9, 200, 700},
      {"h200", 141, 4800, "bf16", 989.4, 450, 700},
      {"gh200-96gb", 96, 4000, "bf16", 990, 150, 1000},
      {"b200", 180, 8000, "bf16", 2250, 900, 1000},
      {"gb200", 186, 8000, "bf16", 2500, 900, 1200},
      {"mi250x-gcd", 64, 1638.4, "bf16", 191.5, 50, 280},
      {"mi300x", 192, 5300, "bf16", 1307.4, 64, 750},
  };
  for (const Published& row : published) {
    CAPTURE(row.name);
    const CatalogueDevice* device = catalogue_device(row.name);
    REQUIRE(device != nullptr);
    CHECK(device->kind.memory == row.memory * gb);
    CHECK(device->kind.memory_bandwidth == row.memory_bandwidth * gb);
    CHECK(device->kind.flops.at(row.precision) == row.rate * tera);
    CHECK(device->link.bandwidth == row.link * gb);
    CHECK(device->watts == row.watts);
  }
  for (const char* name : {"v100", "t4", "p100"})
    CHECK_FALSE(catalogue_device(name)->kind.flops.contains("bf16"));
}

TEST_CASE("every row of the devices is complete, dense, and has its source",
          "[cluster][catalogue]") {
  std::set<std::string> names;
  for (const CatalogueDevice& device : device_catalogue()) {
    CAPTURE(device.name);
    CHECK(plain_name(device.name) == device.name);
    CHECK(names.insert(device.name).second);
    for (const std::string& alias : device.aliases) CHECK(names.insert(alias).second);
    const auto& flops = device.kind.flops;
    CHECK(flops.contains("fp32"));
    CHECK(device.kind.memory > 0.0);
    CHECK(device.kind.memory_bandwidth > 0.0);
    CHECK(device.host_link.bandwidth > 0.0);
    CHECK(device.watts > 0.0);
    CHECK(device.source.find(", 20") != std::string::npos);
    const double wide = flops.at("fp16");
    if (flops.contains("bf16")) CHECK(flops.at("bf16") == wide);
    if (flops.contains("fp8")) CHECK(flops.at("fp8") == Approx(2.0 * wide).epsilon(0.02));
    // A rate with sparsity in one column would be seen beside the others.
    if (flops.contains("tf32")) CHECK(flops.at("tf32") == Approx(0.5 * wide).epsilon(0.02));
  }
}

TEST_CASE("NVIDIA's devices of the catalogue have the usual reserve of GPUs",
          "[cluster][catalogue]") {
  for (const CatalogueDevice& device : device_catalogue()) {
    CAPTURE(device.name);
    CHECK(is_gpu_name(device.name) != device.name.starts_with("mi"));
  }
}

TEST_CASE("clusters of papers and the catalogue say the same of a kind", "[cluster][catalogue]") {
  int compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_file("inputs/clusters"))) {
    if (entry.path().extension() != ".toml") continue;
    CAPTURE(entry.path().string());
    for (const DeviceKind& kind : read_cluster(entry.path().string()).device_kinds) {
      const CatalogueDevice* known = catalogue_device(kind.name);
      REQUIRE(known != nullptr);
      CAPTURE(kind.name);
      ++compared;
      CHECK(kind.memory == known->kind.memory);
      CHECK(kind.memory_bandwidth == known->kind.memory_bandwidth);
      for (const auto& [precision, rate] : kind.flops)
        CHECK(rate == known->kind.flops.at(precision));
    }
  }
  CHECK(compared > 10);
}

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

TEST_CASE("names count whatever their case, separators and maker", "[cluster][catalogue]") {
  for (const char* name : {"h100-sxm-80gb", "H100-SXM-80GB", "NVIDIA H100 80GB HBM3", "h100_sxm",
                           "nvidia-h100-sxm5"}) {
    CAPTURE(name);
    REQUIRE(catalogue_device(name) != nullptr);
    CHECK(catalogue_device(name)->name == "h100-sxm-80gb");
  }
  CHECK(catalogue_device("NVIDIA A100-SXM4-40GB")->name == "a100-sxm-40gb");
  CHECK(catalogue_device("Tesla V100-SXM2-16GB")->name == "v100");
  CHECK(catalogue_device("NVIDIA GeForce RTX 4090")->name == "rtx-4090");
  CHECK(catalogue_device("AMD Instinct MI300X")->name == "mi300x");
  for (const char* name : {"", "a100", "h100", "a100-80gb", "mi250x", "host", "cpu", "fast"}) {
    CAPTURE(name);
    CHECK(catalogue_device(name) == nullptr);
  }
}

TEST_CASE("a cluster file may leave out what the catalogue says", "[cluster][catalogue]") {
  const DeviceKind said = kind_with("h100-sxm-80gb", R"(memory = "80 GB"
memory_bandwidth = "3350 GB/s"
flops = { fp32 = "67 TFLOP/s", tf32 = "494.7 TFLOP/s", bf16 = "989.4 TFLOP/s", fp16 = "989.4 TFLOP/s", fp8 = "1978.9 TFLOP/s" })");
  check_equal(kind_with("h100-sxm-80gb", ""), said);
  check_equal(kind_with("nvidia-h100-80gb-hbm3", ""), said);
  CHECK(kind_with("nvidia-h100-80gb-hbm3", "").name == "nvidia-h100-80gb-hbm3");
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

TEST_CASE("the catalogues fit a screen of 80 columns", "[cluster][catalogue]") {
  for (const bool details : {false, true}) {
    const std::string text = describe_catalogue(details);
    std::size_t begin = 0;
    for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
      CAPTURE(text.substr(begin, end - begin));
      CHECK(end - begin <= 80);
    }
    for (const CatalogueDevice& device : device_catalogue())
      CHECK(text.find(device.name) != std::string::npos);
    CHECK((text.find("data sheet") != std::string::npos) == details);
  }
}

}  // namespace
}  // namespace pptrain
