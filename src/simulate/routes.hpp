#pragma once

#include <map>
#include <utility>

#include "simulate/network.hpp"

namespace pptrain {

/// The routes of a cluster. Inside a node each ordered pair of devices has a link of its own;
/// uplinks of nodes and switches are shared by all pairs that pass them, up and down apart.
class ClusterRoutes {
 public:
  ClusterRoutes(const Cluster& cluster, Network& network) : cluster_(cluster), network_(network) {}
  /// The routes of `other` in a copy of its network.
  ClusterRoutes(const ClusterRoutes& other, Network& network)
      : cluster_(other.cluster_), network_(network), routes_(other.routes_), links_(other.links_) {}

  /// The way from one device to another; asking again gives the same number.
  int route(DeviceId from, DeviceId to);
  /// The network's link of an uplink; asking again gives the same number.
  int link(const Uplink& uplink);

 private:
  const Cluster& cluster_;
  Network& network_;
  std::map<std::pair<int, int>, int> routes_;               // by devices
  std::map<std::pair<int, Uplink::Direction>, int> links_;  // by owner
};

}  // namespace pptrain
