#include "cluster/device_catalogue.hpp"

#include <filesystem>
#include <set>

#include "cluster/read.hpp"
#include "cluster/reserve.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

constexpr double gb = 1e9;
constexpr double tera = 1e12;

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

TEST_CASE("who misspells a name is told those that have it, else its beginning, else nearly so",
          "[cluster][catalogue]") {
  using Names = std::vector<std::string>;
  const Names names = {"dgx-a100-40", "dgx-a100-80", "a100-pcie-80gb", "h100-sxm-80gb", "l40s"};
  CHECK(similar_names("NVIDIA A100", names) ==
        Names{"dgx-a100-40", "dgx-a100-80", "a100-pcie-80gb"});
  CHECK(similar_names("dgx-b200", names) == Names{"dgx-a100-40", "dgx-a100-80"});
  CHECK(similar_names("l40x", names) == Names{"l40s"});
  CHECK(similar_names("toaster", names).empty());
  CHECK(similar_names("t", {"t-1", "t-2", "t-3", "t-4", "t-5", "t-6"}) ==
        Names{"t-1", "t-2", "t-3", "t-4", "t-5"});
}

TEST_CASE("a kind of the catalogue is added to a cluster that has none of its name",
          "[cluster][catalogue]") {
  Cluster cluster;
  cluster.device_kinds = {{"l4", 1e9, {}}};
  add_catalogue_kind(cluster, "l4");
  REQUIRE(cluster.device_kinds.size() == 1);
  CHECK(cluster.device_kinds.front().memory == 1e9);  // as the cluster has it
  add_catalogue_kind(cluster, "t4");
  REQUIRE(cluster.device_kinds.size() == 2);
  CHECK(cluster.device_kinds.back().name == "t4");
  CHECK(cluster.device_kinds.back().memory == 16 * gb);
}

}  // namespace
}  // namespace pptrain
