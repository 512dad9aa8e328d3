#pragma once

#include <hwloc.h>

#include <optional>
#include <string>

#include "probe/gpu_link.hpp"

namespace pptrain {

/// Where the devices on PCI sit in this host, by hwloc.
class PciTree {
 public:
  /// `xml`: a host that hwloc has described in a file, instead of this one; "": this one.
  explicit PciTree(const std::string& xml = "");
  ~PciTree();
  PciTree(const PciTree&) = delete;
  PciTree& operator=(const PciTree&) = delete;

  /// The number of the NUMA node nearest to the device on this bus.
  std::optional<int> numa_node(const std::string& bus_id) const;
  /// How far that node is from the nearest one on which this thread may run, in the firmware's
  /// units: 10 within a node.
  std::optional<double> numa_distance(const std::string& bus_id) const;
  /// What lies between two devices as far as bridges tell, which is all but NVLink.
  std::optional<GpuLink> link(const std::string& bus_id, const std::string& other_bus_id) const;

 private:
  hwloc_obj_t find(const std::string& bus_id) const;

  hwloc_topology_t topology_ = nullptr;
};

}  // namespace pptrain
