#pragma once

#include <map>

#include "cluster/cluster.hpp"
#include "profile/profile.hpp"

namespace pptrain {

/// A cluster and its profile as they turned out to be.
struct SlowedDevices {
  Cluster cluster;
  Profile profile;
};

/// The devices of the cluster under the same numbers, of which device d takes slowdowns[d] times as
/// long as the profile says: such a device is of a kind of its own, "host (1.80 x slower)". Equally
/// slow devices of a kind share one. A node with devices of several kinds becomes a switch with
/// nodes below it, joined by the node's own link. That keeps bandwidth and latency between any two
/// devices where the link inside a node is at least as fast as its uplink.
SlowedDevices slow_down(const Cluster& cluster, const Profile& profile,
                        const std::map<DeviceId, double>& slowdowns);

}  // namespace pptrain
