#include "probe/topology.hpp"

#include <algorithm>
#include <memory>

namespace pptrain {
namespace {

using Bitmap = std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)>;

/// What the process may run on; anything where the system does not tell.
Bitmap bound_to(hwloc_topology_t topology) {
  Bitmap bound(hwloc_bitmap_alloc(), hwloc_bitmap_free);
  if (hwloc_get_cpubind(topology, bound.get(), HWLOC_CPUBIND_PROCESS) != 0)
    hwloc_bitmap_fill(bound.get());
  return bound;
}

}  // namespace

Topology::Topology() {
  hwloc_topology_init(&topology_);
  hwloc_topology_load(topology_);
}

Topology::~Topology() { hwloc_topology_destroy(topology_); }

std::vector<hwloc_obj_t> Topology::objects(hwloc_obj_type_t type) const {
  std::vector<hwloc_obj_t> all;
  for (hwloc_obj_t object = nullptr;
       (object = hwloc_get_next_obj_by_type(topology_, type, object)) != nullptr;) {
    all.push_back(object);
  }
  return all;
}

std::vector<int> Topology::allowed_cores() const {
  const Bitmap bound = bound_to(topology_);
  std::vector<int> cores;
  for (const hwloc_obj_t core : objects(HWLOC_OBJ_CORE)) {
    if (hwloc_bitmap_intersects(core->cpuset, bound.get()) == 0) continue;
    // Complete: a container that may use the other hardware thread shares the core.
    cores.push_back(hwloc_bitmap_first(core->complete_cpuset));
  }
  if (cores.empty()) cores.push_back(0);
  return cores;
}

int Topology::num_sockets() const {
  return std::max(1, static_cast<int>(objects(HWLOC_OBJ_PACKAGE).size()));
}

std::optional<int> Topology::own_socket() const {
  const std::vector<hwloc_obj_t> sockets = objects(HWLOC_OBJ_PACKAGE);
  if (sockets.size() < 2) return std::nullopt;
  const Bitmap bound = bound_to(topology_);
  for (const hwloc_obj_t socket : sockets) {
    if (hwloc_bitmap_isincluded(bound.get(), socket->cpuset) != 0)
      return static_cast<int>(socket->logical_index);
  }
  return std::nullopt;
}

std::string Topology::cpu_info(const char* name) const {
  for (const hwloc_obj_t object :
       {hwloc_get_obj_by_type(topology_, HWLOC_OBJ_PACKAGE, 0), hwloc_get_root_obj(topology_)}) {
    const char* info = object == nullptr ? nullptr : hwloc_obj_get_info_by_name(object, name);
    if (info != nullptr) return info;
  }
  return "";
}

std::string Topology::cpu_model() const {
  const std::string model = cpu_info("CPUModel");
  return model.empty() ? "cpu" : model;
}

std::string Topology::processor() const {
  std::string text = cpu_model();
  for (const char* name : {"CPUFamilyNumber", "CPUModelNumber", "CPUStepping"}) {
    const std::string info = cpu_info(name);
    if (!info.empty()) text += " " + info;
  }
  return text;
}

}  // namespace pptrain
