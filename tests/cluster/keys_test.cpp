#include "cluster/keys.hpp"

#include <algorithm>

#include "cluster/read.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

/// A table of a file and its lines; "" is the file itself.
struct Section {
  std::string name;
  std::vector<std::string> lines;
};

/// A cluster with every key that there is, of kinds that the catalogues know.
const std::vector<Section> everything = {
    {"",
     {"name = \"all\"", "emulate = \"numbers\"", "currency = \"USD\"",
      "storage_bandwidth = \"1 GB/s\""}},
    {"device",
     {"kind = \"l40s\"", "memory = \"48 GB\"", "reserve = \"1 GB\"",
      "memory_bandwidth = \"1 GB/s\"", "flops.fp64 = 1", "flops.fp32 = 1", "flops.tf32 = 1",
      "flops.bf16 = 1", "flops.fp16 = 1", "flops.fp8 = 1", "flops.int8 = 1"}},
    {"node",
     {"kind = \"dgx-h100\"", "count = 1", "devices.kind = \"l40s\"", "devices.count = 1",
      "link.bandwidth = 1", "link.latency = 0", "uplink.bandwidth = 1", "uplink.latency = 0",
      "host_link.bandwidth = 1", "host_link.latency = 0", "switch = \"rack\"", "cores = 1",
      "core_seconds.message = 0", "core_seconds.wait = 0", "core_pool = \"host\"",
      "hosts = [\"one\"]", "price = 1", "power = 1", "mtbf = 1"}},
    {"switch",
     {"name = \"rack\"", "uplink.bandwidth = 1", "uplink.latency = 0", "switch = \"row\"",
      "egress = 1"}}};

/// The file without the lines of a key, whose name may have that of an inner table in front, or
/// with one more line of the section.
std::string file(const std::string& section = "", const std::string& without = "",
                 const std::string& more = "") {
  std::string text;
  for (const Section& each : everything) {
    if (section.empty() && !without.empty() && each.name == without) continue;
    if (!each.name.empty()) text += "[[" + each.name + "]]\n";
    for (const std::string& line : each.lines) {
      const bool is_left_out = !without.empty() && each.name == section &&
                               (line.starts_with(without + " ") || line.starts_with(without + "."));
      if (!is_left_out) text += line + "\n";
    }
    if (each.name == section && !more.empty()) text += more + "\n";
  }
  return text;
}

std::string complaint(const std::string& text) {
  return complaint_of([&] { parse_cluster(text, "c.toml"); });
}

/// Holds a table, whose keys have `inner` in front in the section, to the reader: a key may be left
/// out where the table says what holds then, and no other one is read. `bound` are keys that have
/// to be there because of others.
void check_table(const KeyTable& table, const std::string& section, const std::string& inner = "",
                 const std::vector<std::string>& bound = {}) {
  for (const KeyDescription& key : table.keys) {
    INFO(table.path << ": " << inner << key.name);
    CHECK_FALSE(key.type.empty());
    CHECK_FALSE(key.description.empty());
    const std::string without = file(section, inner + key.name);
    CHECK(without != file());
    if (std::find(bound.begin(), bound.end(), key.name) != bound.end()) continue;
    const std::string said = complaint(without);
    INFO(said);
    CHECK((said == "nothing was refused") == !key.fallback.empty());
  }
  const std::string said = complaint(file(section, "-", inner + "no_such_key = 1"));
  CHECK(said.find("no_such_key is not known") != std::string::npos);
}

TEST_CASE("keys of a cluster's file are those that are described, with their defaults",
          "[cluster][keys]") {
  REQUIRE(complaint(file()) == "nothing was refused");
  // Prices need a currency, and nodes name the kind of device.
  check_table(cluster_keys::root, "", "", {"currency", "device"});
  check_table(cluster_keys::device, "device");
  check_table(cluster_keys::flops, "device", "flops.");
  check_table(cluster_keys::node, "node", "", {"cores"});  // of the pool
  check_table(cluster_keys::devices, "node", "devices.");
  for (const char* link : {"link.", "uplink.", "host_link."})
    check_table(cluster_keys::link, "node", link);
  check_table(cluster_keys::link, "switch", "uplink.");
  check_table(cluster_keys::core_seconds, "node", "core_seconds.");
  check_table(cluster_keys::switches, "switch", "", {"uplink"});  // of what leaves it
}

TEST_CASE("tables of a cluster's keys are in the order of the file", "[cluster][keys]") {
  std::vector<std::string> paths;
  for (const KeyTable& table : cluster_keys::all()) paths.push_back(table.path);
  CHECK(paths == std::vector<std::string>{"the file", "[[device]]", "device.flops", "[[node]]",
                                          "node.devices", "link, uplink, host_link",
                                          "node.core_seconds", "[[switch]]"});
}

}  // namespace
}  // namespace pptrain
