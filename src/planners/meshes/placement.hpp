#pragma once

#include <vector>

#include "cluster/cluster.hpp"

namespace pptrain {

/// How DAPPLE gives devices to a stage (section IV-B). A machine is a node; it is fresh while none
/// of its devices is used. The paper leaves open in which order machines come and what happens when
/// a policy's machines have too few devices. Here nodes come in file order, devices of a node in
/// order, and what is missing comes from the other nodes in the same manner, so that every policy
/// can always serve a stage.
enum class PlacementPolicy {
  fresh_first,    ///< fills fresh nodes one after another, then used ones
  append_first,   ///< fills used nodes one after another, then fresh ones
  scatter_first,  ///< one device of each used node in turn, then of each fresh one in turn
};

/// Devices that a stage gets, the same ones of each of some nodes that follow each other and are of
/// one group: of each of nodes [node, node + num_nodes) its devices [first, first + count).
struct TakenDevices {
  int node = 0;
  int num_nodes = 1;
  int first = 0;
  int count = 0;
  bool operator==(const TakenDevices&) const = default;
};

/// How many devices of each node are used, in runs of equal nodes: a cluster of 10,000 devices
/// takes no more than a few numbers.
class DeviceUse {
 public:
  /// Nodes that follow each other, of the same group, with equally many devices used.
  struct Run {
    int group = 0;
    int num_nodes = 0;
    int used = 0;  ///< of each node
    int size = 0;  ///< devices of each node
    /// Devices of each node that are not used.
    int free() const { return size - used; }
  };

  /// Nothing is used.
  explicit DeviceUse(const Cluster& cluster);

  /// Takes `num_devices` devices, which must be free, in order of their numbers.
  std::vector<TakenDevices> take(PlacementPolicy policy, int num_devices);

  int num_free() const { return num_free_; }  ///< devices of the cluster that are not used
  /// The runs of nodes, in file order.
  const std::vector<Run>& runs() const { return runs_; }

 private:
  std::vector<Run> runs_;
  int num_free_ = 0;
};

/// The numbers of these devices.
std::vector<DeviceId> device_ids(const Cluster& cluster, const std::vector<TakenDevices>& taken);

/// How many devices these are.
int num_devices(const std::vector<TakenDevices>& taken);

}  // namespace pptrain
