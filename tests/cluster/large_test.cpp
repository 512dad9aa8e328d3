// A cluster of 10,240 devices: what it costs to hold and to ask.
#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "cluster/cluster.hpp"
#include "cluster/read.hpp"
#include "support/catch.hpp"
#include "support/effort.hpp"

namespace pptrain {
namespace {

constexpr int num_devices = 10240;

/// 1,280 nodes of 8 devices, 32 to a rack, 10 racks to a row.
std::string large_cluster() {
  std::string text = "name = \"large\"\n[[device]]\nkind = \"g\"\nmemory = \"80 GB\"\n";
  for (int rack = 0; rack < 40; ++rack) {
    text += fmt::format(
        "[[node]]\nkind = \"n\"\ncount = 32\ndevices = {{ kind = \"g\", count = 8 }}\n"
        "link = {{ bandwidth = \"200 GB/s\", latency = \"2 us\" }}\n"
        "uplink = {{ bandwidth = \"200 Gbit/s\", latency = \"5 us\" }}\nswitch = \"rack{0}\"\n"
        "[[switch]]\nname = \"rack{0}\"\nuplink = {{ bandwidth = \"100 Gbit/s\", latency = \"7 "
        "us\" }}\n"
        "switch = \"row{1}\"\n",
        rack, rack / 10);
  }
  for (int row = 0; row < 4; ++row) {
    text += fmt::format(
        "[[switch]]\nname = \"row{}\"\nuplink = {{ bandwidth = \"50 Gbit/s\", latency = \"9 us\" "
        "}}\n",
        row);
  }
  return text;
}

double expected_bandwidth(int a, int b) {
  if (a / 8 == b / 8) return 200e9;
  if (a / 256 == b / 256) return 25e9;
  return a / 2560 == b / 2560 ? 12.5e9 : 6.25e9;
}

double resident_bytes() {
  std::ifstream statm("/proc/self/statm");  // pages: the whole, then the resident ones
  double whole = 0.0;
  double resident = 0.0;
  statm >> whole >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

TEST_CASE("a cluster of 10,240 devices needs no table of pairs", "[cluster]") {
  const double resident_before = resident_bytes();
  REQUIRE(resident_before > 0.0);
  const std::string text = large_cluster();
  Cluster cluster;
  CHECK(test::effort_of([&] { cluster = parse_cluster(text, "large.toml"); }) < 5.0);
  CHECK(cluster.num_devices() == num_devices);

  constexpr int num_queries = 200000;
  std::mt19937 generator(1);
  std::uniform_int_distribution<int> device(0, num_devices - 1);
  int wrong = 0;
  const double effort = test::effort_of([&] {
    for (int i = 0; i < num_queries; ++i) {
      const int a = device(generator);
      const int b = device(generator);
      if (a != b && cluster.bandwidth(DeviceId(a), DeviceId(b)) != expected_bandwidth(a, b))
        ++wrong;
    }
  });
  CHECK(wrong == 0);
  CHECK(effort < 30.0);  // a query is no search through the devices

  std::vector<DeviceId> all;
  for (int d = 0; d < num_devices; ++d) all.emplace_back(d);
  CHECK(cluster.slowest_link(all).bandwidth == 6.25e9);
  CHECK(cluster.slowest_link(all).latency == 9e-6);

  // Even one byte for each pair would be 105 MB.
  CHECK(resident_bytes() - resident_before < 32e6);
}

}  // namespace
}  // namespace pptrain
