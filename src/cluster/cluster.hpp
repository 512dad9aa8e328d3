#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/ids.hpp"

namespace pptrain {

/// A kind of device and what it can do at best.
struct DeviceKind {
  std::string name;
  double memory = 0.0;                    ///< bytes, all of it usable
  std::map<std::string, double> flops;    ///< FLOP per second by precision
  double memory_bandwidth = 0.0;          ///< bytes per second; 0: unknown
};

struct Link {
  double bandwidth = 0.0;  ///< bytes per second, each direction
  double latency = 0.0;    ///< seconds
};

/// `count` equal nodes with `num_devices` devices each.
struct NodeGroup {
  std::string kind;
  int count = 1;
  std::string device_kind;
  int num_devices = 1;
  Link link;                ///< between two devices of one node
  Link uplink;              ///< node to its switch
  std::string switch_name;  ///< "": the root, which limits nothing
  int cores = 0;            ///< cores that the node's devices share; 0: each device has its own
  std::vector<std::string> hosts;  ///< host name of each node where known
};

struct Switch {
  std::string name;
  Link uplink;
  std::string parent;  ///< "": the root
};

enum class Emulate { no, numbers, timing };

/// Nodes, devices and links as data. Devices are numbered in file order: all devices of the first
/// node of the first group, then the next node.
class Cluster {
 public:
  std::string name;
  Emulate emulate = Emulate::no;
  std::vector<DeviceKind> device_kinds;
  std::vector<NodeGroup> groups;
  std::vector<Switch> switches;

  /// Checks names and values and builds the index; call after filling the fields.
  /// Throws `Error` (exit code 2) with `source` as the place.
  void finish(const std::string& source);

  int num_devices() const { return num_devices_; }
  int num_nodes() const { return num_nodes_; }
  int node_of(DeviceId device) const;
  int group_of(DeviceId device) const;
  const DeviceKind& kind_of(DeviceId device) const;
  /// Devices of node `node` (0-based over the whole cluster).
  std::vector<DeviceId> devices_of_node(int node) const;
  const NodeGroup& group_of_node(int node) const;

  /// Smallest bandwidth on the path between two devices, O(depth of the switch tree).
  /// A device to itself is infinitely fast.
  double bandwidth(DeviceId a, DeviceId b) const;
  /// Largest latency on that path.
  double latency(DeviceId a, DeviceId b) const;

 private:
  struct Path {
    double bandwidth;
    double latency;
  };
  Path path(DeviceId a, DeviceId b) const;

  std::vector<int> first_device_;    // of each group
  std::vector<int> first_node_;      // of each group
  std::vector<int> kind_index_;      // of each group
  std::vector<int> switch_index_;    // of each group; -1: root
  std::vector<int> switch_parent_;   // of each switch; -1: root
  int num_devices_ = 0;
  int num_nodes_ = 0;
};

}  // namespace pptrain
