#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"

namespace pptrain {

/// A kind of device and what it can do at best.
struct DeviceKind {
  std::string name;
  double memory = 0.0;  ///< bytes that a plan may use: the whole memory without the reserve
  std::map<std::string, double> flops;           ///< FLOP per second by precision
  double memory_bandwidth = 0.0;                 ///< bytes per second; 0: unknown
  std::optional<double> reserve = std::nullopt;  ///< bytes that drivers and libraries take;
                                                 ///< nothing: nobody says it

  /// Bytes of the device's memory, with the reserve where that is known.
  double whole_memory() const { return memory + reserve.value_or(0.0); }
};

struct Link {
  double bandwidth = 0.0;  ///< bytes per second, each direction; 0: not given
  double latency = 0.0;    ///< seconds
};

/// What a core works for messages between devices that share cores, beside copying them; both 0:
/// not known.
struct CoreSeconds {
  double message = 0.0;  ///< sending and receiving one
  double wait = 0.0;     ///< each time that a device waits for messages: giving the core away and
                         ///< waking up
};

/// `count` equal nodes with `num_devices` devices each.
struct NodeGroup {
  std::string kind;
  int count = 1;
  std::string device_kind;
  int num_devices = 1;
  Link link;                 ///< between two devices of one node
  Link uplink;               ///< node to its switch
  Link host_link;            ///< each device to its host; not given: nothing can be offloaded
  std::string switch_name;   ///< "": the root, which limits nothing
  int cores = 0;             ///< cores that the node's devices share; 0: each device has its own
  CoreSeconds core_seconds;  ///< of messages of devices that share cores
  std::string core_pool;  ///< nodes of one pool, containers of a host, share `cores`; "": a node's
                          ///< are its own
  int pool_devices = 0;   ///< of all nodes of the pool; set by `Cluster::finish`
  std::vector<std::string> hosts;  ///< host name of each node where known
  std::optional<double> price;     ///< money for an hour of one node, in the cluster's currency
  double power = 0.0;  ///< watts of one node at full load; 0: `node_watts` says what its devices
                       ///< take
  double mtbf = 0.0;   ///< mean seconds between failures of one node; 0: not known

  /// Devices among which `cores` are shared.
  int core_sharers() const { return core_pool.empty() ? num_devices : pool_devices; }
  /// Whether there are fewer cores than devices that compute on them, so that devices slow each
  /// other down.
  bool shares_cores() const { return cores > 0 && cores < core_sharers(); }
};

struct Switch {
  std::string name;
  Link uplink;          ///< to its parent; not given: it limits nothing
  std::string parent;   ///< "": the root; so is a name without an entry of its own
  double egress = 0.0;  ///< money for each GB (10^9 bytes) that leaves over the uplink
};

enum class Emulate { no, numbers, timing };

/// An uplink that a transfer between nodes passes, in one direction.
struct Uplink {
  enum class Direction { up, down };
  int owner = 0;  ///< node, or the number of nodes + index of the switch
  Direction direction = Direction::up;
  Link link;
};

/// Nodes, devices and links as data. Devices are numbered in file order: all devices of the first
/// node of the first group, then the next node.
class Cluster {
 public:
  std::string name;
  Emulate emulate = Emulate::no;
  std::string currency;            ///< of all prices, "USD"; "": none is known
  double storage_bandwidth = 0.0;  ///< bytes per second that all nodes together write checkpoints
                                   ///< with; 0: not known
  std::vector<DeviceKind> device_kinds;
  std::vector<NodeGroup> groups;
  std::vector<Switch> switches;

  /// Checks names and values and builds the index; call after filling the fields.
  /// Throws `Error` (exit code 2) with `source` as the place.
  void finish(const std::string& source);
  /// Checks names and values and builds the index; call after filling the fields. Throws `Error`
  /// (exit code 2) with the place of a value: `locate("node[1].link")` is for instance "c.toml:12".
  void finish(const std::function<std::string(const std::string& path)>& locate);

  /// Devices of all nodes; known, as everything below, from `finish` on.
  int num_devices() const { return num_devices_; }
  /// Whether every node says how its devices reach their host's memory.
  bool has_host_links() const;
  /// Nodes of all groups.
  int num_nodes() const { return num_nodes_; }
  /// Node of a device, 0-based over the whole cluster.
  int node_of(DeviceId device) const;
  /// Index into `groups` of the group whose nodes have a device.
  int group_of(DeviceId device) const;
  /// The kind that a device is of.
  const DeviceKind& kind_of(DeviceId device) const { return device_kinds[kind_index_of(device)]; }
  /// Index into `device_kinds` of the kind that a device is of.
  int kind_index_of(DeviceId device) const { return kind_index_[group_of(device)]; }
  /// Index into `device_kinds` of the kind that the devices of a group of nodes are of.
  int kind_index_of_group(int group) const { return kind_index_[group]; }
  /// Devices of node `node` (0-based over the whole cluster).
  std::vector<DeviceId> devices_of_node(int node) const;
  /// The group that node `node` is of.
  const NodeGroup& group_of_node(int node) const;

  /// Smallest bandwidth on the path between two devices, O(depth of the switch tree).
  /// A device to itself is infinitely fast.
  double bandwidth(DeviceId a, DeviceId b) const;
  /// Largest latency on the path between two devices.
  double latency(DeviceId a, DeviceId b) const;
  /// Smallest bandwidth and largest latency on the path between two devices.
  Link path(DeviceId a, DeviceId b) const;
  /// The uplinks with a bandwidth that a transfer passes; none inside a node.
  std::vector<Uplink> uplinks(DeviceId from, DeviceId to) const;
  /// The uplinks with a bandwidth that a ring of the group passes, each once; none inside a node.
  /// The ring has the devices of a node one after another, and those of a switch where nodes are in
  /// the order of their switches.
  std::vector<Uplink> ring_uplinks(const std::vector<DeviceId>& group) const;
  /// Smallest bandwidth and largest latency over all pairs of a group of distinct devices, in
  /// O(group + switches) times the depth of the tree. A group of one is infinitely fast.
  Link slowest_link(const std::vector<DeviceId>& group) const;

 private:
  void check(const std::function<std::string(const std::string& path)>& locate) const;
  void build_index();
  void build_switch_index();
  int group_of_node_index(int node) const;

  std::vector<int> first_device_;   // of each group
  std::vector<int> first_node_;     // of each group
  std::vector<int> kind_index_;     // of each group
  std::vector<int> switch_index_;   // of each group; -1: root
  std::vector<int> switch_parent_;  // of each switch; -1: root
  std::vector<int> switch_depth_;   // of each switch; children of the root have 1
  int num_devices_ = 0;
  int num_nodes_ = 0;
};

}  // namespace pptrain
