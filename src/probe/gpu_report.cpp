#include "probe/gpu_report.hpp"

#include <nlohmann/json.hpp>

#include "probe/pci_tree.hpp"

namespace pptrain {
namespace {

template <class T>
nlohmann::json json_of(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

template <class T>
void read(const nlohmann::json& json, std::optional<T>& value) {
  if (!json.is_null()) value = json.get<T>();
}

}  // namespace

GpuReport report_gpu(int ordinal) {
  GpuReport report;
  report.info = gpu_info(ordinal);
  const PciTree tree;
  report.numa_node = tree.numa_node(report.info.bus_id);
  report.numa_distance = tree.numa_distance(report.info.bus_id);
  report.peers = visible_peers(ordinal);
  return report;
}

std::string to_json(const GpuReport& report) {
  nlohmann::json json = {{"name", report.info.name},
                         {"uuid", report.info.uuid},
                         {"bus_id", report.info.bus_id},
                         {"memory_bytes", report.info.memory_bytes},
                         {"free_bytes", report.info.free_bytes},
                         {"major", report.info.major},
                         {"minor", report.info.minor},
                         {"multiprocessors", report.info.multiprocessors},
                         {"clock_hz", report.info.clock_hz},
                         {"memory_bandwidth", report.info.memory_bandwidth},
                         {"numa_node", json_of(report.numa_node)},
                         {"numa_distance", json_of(report.numa_distance)},
                         {"peers", nlohmann::json::array()}};
  for (const VisiblePeer& peer : report.peers)
    json["peers"].push_back({peer.bus_id, static_cast<int>(peer.access)});
  return json.dump();
}

GpuReport gpu_report_from_json(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text);
  GpuReport report;
  json.at("name").get_to(report.info.name);
  json.at("uuid").get_to(report.info.uuid);
  json.at("bus_id").get_to(report.info.bus_id);
  json.at("memory_bytes").get_to(report.info.memory_bytes);
  json.at("free_bytes").get_to(report.info.free_bytes);
  json.at("major").get_to(report.info.major);
  json.at("minor").get_to(report.info.minor);
  json.at("multiprocessors").get_to(report.info.multiprocessors);
  json.at("clock_hz").get_to(report.info.clock_hz);
  json.at("memory_bandwidth").get_to(report.info.memory_bandwidth);
  read(json.at("numa_node"), report.numa_node);
  read(json.at("numa_distance"), report.numa_distance);
  for (const auto& peer : json.at("peers")) {
    report.peers.push_back(
        {peer.at(0).get<std::string>(), static_cast<PeerAccess>(peer.at(1).get<int>())});
  }
  return report;
}

}  // namespace pptrain
