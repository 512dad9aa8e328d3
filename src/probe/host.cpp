#include "probe/host.hpp"

#include <hwloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

namespace pptrain {
namespace {

/// hwloc's picture of the machine.
class Topology {
 public:
  Topology() {
    hwloc_topology_init(&topology_);
    hwloc_topology_load(topology_);
  }
  ~Topology() { hwloc_topology_destroy(topology_); }
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  /// Cores that the process may use; hyper-threads of one core count once.
  std::vector<int> allowed_cores() const {
    const auto free_bitmap = [](hwloc_bitmap_t set) { hwloc_bitmap_free(set); };
    const std::unique_ptr<hwloc_bitmap_s, decltype(free_bitmap)> allowed(hwloc_bitmap_alloc(), free_bitmap);
    if (hwloc_get_cpubind(topology_, allowed.get(), HWLOC_CPUBIND_PROCESS) != 0) hwloc_bitmap_fill(allowed.get());
    std::vector<int> cores;
    for (hwloc_obj_t core = nullptr; (core = hwloc_get_next_obj_by_type(topology_, HWLOC_OBJ_CORE, core)) != nullptr;) {
      if (hwloc_bitmap_intersects(core->cpuset, allowed.get()) == 0) continue;
      // Complete: a container that may use the other hardware thread shares the core.
      cores.push_back(hwloc_bitmap_first(core->complete_cpuset));
    }
    if (cores.empty()) cores.push_back(0);
    return cores;
  }
  int count(hwloc_obj_type_t type) const { return std::max(1, hwloc_get_nbobjs_by_type(topology_, type)); }
  std::string cpu_model() const {
    for (const hwloc_obj_t object :
         {hwloc_get_obj_by_type(topology_, HWLOC_OBJ_PACKAGE, 0), hwloc_get_root_obj(topology_)}) {
      const char* model = object == nullptr ? nullptr : hwloc_obj_get_info_by_name(object, "CPUModel");
      if (model != nullptr) return model;
    }
    return "cpu";
  }

 private:
  hwloc_topology_t topology_ = nullptr;
};

/// From the system, not from hwloc: the sum over NUMA nodes misses memory that was plugged in later.
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
  return {
      name,          kernel_id(name), topology.cpu_model(), topology.allowed_cores(), topology.count(HWLOC_OBJ_PACKAGE),
      memory_bytes()};
}

std::string to_json(const HostReport& report) {
  return nlohmann::json{{"name", report.name},   {"kernel", report.kernel},   {"cpu_model", report.cpu_model},
                        {"cores", report.cores}, {"sockets", report.sockets}, {"memory_bytes", report.memory_bytes}}
      .dump();
}

HostReport host_report_from_json(const std::string& text) {
  const nlohmann::json report = nlohmann::json::parse(text);
  return {report.at("name"),  report.at("kernel"),  report.at("cpu_model"),
          report.at("cores"), report.at("sockets"), report.at("memory_bytes")};
}

}  // namespace pptrain
