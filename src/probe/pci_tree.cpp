#include "probe/pci_tree.hpp"

#include <hwloc/helper.h>

#include <algorithm>
#include <memory>
#include <set>

namespace pptrain {
namespace {

using Bitmap = std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)>;

/// NUMA nodes on which this thread may run, which drives the GPU.
Bitmap nodes_of_thread(hwloc_topology_t topology) {
  const Bitmap cores(hwloc_bitmap_alloc(), hwloc_bitmap_free);
  Bitmap nodes(hwloc_bitmap_alloc(), hwloc_bitmap_free);
  if (hwloc_get_cpubind(topology, cores.get(), HWLOC_CPUBIND_THREAD) != 0)
    hwloc_bitmap_fill(cores.get());
  hwloc_cpuset_to_nodeset(topology, cores.get(), nodes.get());
  return nodes;
}

bool is_below_host_bridge(hwloc_obj_t object) {
  return object->type == HWLOC_OBJ_BRIDGE &&
         object->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI;
}

}  // namespace

PciTree::PciTree(const std::string& xml) {
  hwloc_topology_init(&topology_);
  if (!xml.empty()) hwloc_topology_set_xml(topology_, xml.c_str());
  hwloc_topology_set_io_types_filter(topology_, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_load(topology_);
}

PciTree::~PciTree() { hwloc_topology_destroy(topology_); }

hwloc_obj_t PciTree::find(const std::string& bus_id) const {
  return hwloc_get_pcidev_by_busidstring(topology_, bus_id.c_str());
}

std::optional<int> PciTree::numa_node(const std::string& bus_id) const {
  const hwloc_obj_t device = find(bus_id);
  if (device == nullptr) return std::nullopt;
  const hwloc_obj_t nearest = hwloc_get_non_io_ancestor_obj(topology_, device);
  // Firmware that says nothing leaves the device at the whole host.
  if (nearest == nullptr || hwloc_bitmap_weight(nearest->nodeset) != 1) return std::nullopt;
  return hwloc_bitmap_first(nearest->nodeset);
}

std::optional<double> PciTree::numa_distance(const std::string& bus_id) const {
  const std::optional<int> node = numa_node(bus_id);
  if (!node) return std::nullopt;
  unsigned count = 1;
  hwloc_distances_s* distances = nullptr;
  if (hwloc_distances_get_by_type(topology_, HWLOC_OBJ_NUMANODE, &count, &distances,
                                  HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) != 0 ||
      count == 0) {
    return std::nullopt;
  }
  const Bitmap near = nodes_of_thread(topology_);
  std::optional<double> least;
  for (unsigned from = 0; from < distances->nbobjs; ++from) {
    if (hwloc_bitmap_isset(near.get(), distances->objs[from]->os_index) == 0) continue;
    for (unsigned to = 0; to < distances->nbobjs; ++to) {
      if (static_cast<int>(distances->objs[to]->os_index) != *node) continue;
      const auto distance = static_cast<double>(distances->values[from * distances->nbobjs + to]);
      least = least ? std::min(*least, distance) : distance;
    }
  }
  hwloc_distances_release(topology_, distances);
  return least;
}

std::optional<GpuLink> PciTree::link(const std::string& bus_id,
                                     const std::string& other_bus_id) const {
  const hwloc_obj_t one = find(bus_id);
  hwloc_obj_t other = find(other_bus_id);
  if (one == nullptr || other == nullptr) return std::nullopt;
  std::set<hwloc_obj_t> above;
  for (hwloc_obj_t object = one; object != nullptr; object = object->parent) above.insert(object);
  while (!above.contains(other)) other = other->parent;  // the root is above both
  return is_below_host_bridge(other) ? GpuLink::pcie : GpuLink::through_host;
}

}  // namespace pptrain
