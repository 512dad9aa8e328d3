#include "probe/host.hpp"

#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "probe/slurm.hpp"
#include "probe/topology.hpp"

namespace pptrain {
namespace {

/// The system says it, not hwloc: the sum over NUMA nodes misses memory that was plugged in later.
double memory_bytes() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

/// A number that the kernel draws when it starts; the host's name where there is none.
std::string kernel_id(const std::string& host) {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  return file >> id ? id : host;
}

}  // namespace

HostReport report_host() {
  const Topology topology;
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  HostReport report;
  const SlurmPlace place = slurm_place();
  report.name = place.node.empty() ? name : place.node;
  report.kernel = kernel_id(name);
  report.cpu_model = topology.cpu_model();
  report.cores = topology.allowed_cores();
  report.sockets = topology.num_sockets();
  report.socket = topology.own_socket();
  report.memory_bytes = memory_bytes();
  report.switches = place.switches;
  return report;
}

std::string to_json(const HostReport& report) {
  return nlohmann::json{
      {"name", report.name},
      {"kernel", report.kernel},
      {"cpu_model", report.cpu_model},
      {"cores", report.cores},
      {"sockets", report.sockets},
      {"socket", report.socket ? nlohmann::json(*report.socket) : nlohmann::json()},
      {"memory_bytes", report.memory_bytes},
      {"switches", report.switches}}
      .dump();
}

HostReport host_report_from_json(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text);
  HostReport report;
  json.at("name").get_to(report.name);
  json.at("kernel").get_to(report.kernel);
  json.at("cpu_model").get_to(report.cpu_model);
  json.at("cores").get_to(report.cores);
  json.at("sockets").get_to(report.sockets);
  if (!json.at("socket").is_null()) report.socket = json.at("socket").get<int>();
  json.at("memory_bytes").get_to(report.memory_bytes);
  json.at("switches").get_to(report.switches);
  return report;
}

}  // namespace pptrain
