#include "output.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/log.hpp"
#include "cluster/node_prices.hpp"

namespace pptrain {
namespace {

nlohmann::json json_of(const Link& link) {
  return {{"bandwidth_bytes_per_second", link.bandwidth}, {"latency_seconds", link.latency}};
}

}  // namespace

void check_delivery(const std::string& path) {
  namespace fs = std::filesystem;
  if (path.empty()) return;
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    throw_bad_input({path, "cannot be written", "it is a directory", "name a file in it"});
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty() && !fs::is_directory(folder, ignored)) {
    throw_bad_input(
        {path, "cannot be written", folder.string() + " is no directory", "name another file"});
  }
}

void deliver(const std::string& text, const std::string& path) {
  if (path.empty()) {
    if (std::cout << text << std::flush) return;
    throw_runtime_failure(
        {"standard output", "cannot be written", std::strerror(errno), "write to a file with -o"});
  }
  check_delivery(path);
  // A file is replaced when all of it is there; what is no file, as /dev/null, is written to.
  const std::string suggestion = "name another file";
  if (replaced_file(path)) {
    write_file(path, text, suggestion);
  } else {
    std::ofstream file(path, std::ios::binary);
    file << text << std::flush;
    if (!file) throw_unwritable({path, "cannot be written", "", suggestion}, errno);
  }
  log_info("Wrote {}", path);
}

std::string cluster_json(const Cluster& cluster) {
  nlohmann::json json = {
      {"name", cluster.name}, {"devices", cluster.num_devices()}, {"nodes", cluster.num_nodes()}};
  for (const DeviceKind& kind : cluster.device_kinds) {
    json["device_kinds"].push_back(
        {{"kind", kind.name},
         {"memory_bytes", kind.whole_memory()},
         {"reserve_bytes", kind.reserve ? nlohmann::json(*kind.reserve) : nlohmann::json()},
         {"flop_per_second", kind.flops},
         {"memory_bandwidth_bytes_per_second", kind.memory_bandwidth}});
  }
  for (const NodeGroup& group : cluster.groups) {
    json["node_groups"].push_back(
        {{"kind", group.kind},
         {"count", group.count},
         {"device_kind", group.device_kind},
         {"devices_per_node", group.num_devices},
         {"cores", group.cores},
         {"core_seconds",
          {{"message", group.core_seconds.message}, {"wait", group.core_seconds.wait}}},
         {"core_pool", group.core_pool},
         {"hosts", group.hosts},
         {"link", json_of(group.link)},
         {"uplink", json_of(group.uplink)},
         {"switch", group.switch_name}});
    nlohmann::json& written = json["node_groups"].back();
    if (group.price) written["price_per_hour"] = *group.price;
    if (const double watts = node_watts(group); watts > 0.0) written["watts"] = watts;
    if (group.mtbf > 0.0) written["mtbf_seconds"] = group.mtbf;
  }
  if (!cluster.currency.empty()) json["currency"] = cluster.currency;
  for (const Switch& s : cluster.switches) {
    json["switches"].push_back(
        {{"name", s.name}, {"parent", s.parent}, {"uplink", json_of(s.uplink)}});
  }
  return json.dump(2) + "\n";
}

}  // namespace pptrain
