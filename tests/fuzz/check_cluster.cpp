#include "check_cluster.hpp"

#include "base/error.hpp"
#include "cluster/read.hpp"

namespace pptrain {
namespace {

/// Links between some devices of an accepted cluster are usable.
void check_links(const Cluster& cluster) {
  const DeviceId first(0);
  const DeviceId last(cluster.num_devices() - 1);
  PPTRAIN_ASSERT(cluster.node_of(last) == cluster.num_nodes() - 1, "node {} of {}",
                 cluster.node_of(last), cluster.num_nodes());
  if (first == last) return;
  const Link path = cluster.path(first, last);
  const Link slowest = cluster.slowest_link({first, last});
  PPTRAIN_ASSERT(path.bandwidth > 0.0 && path.latency >= 0.0, "{} B/s, {} s", path.bandwidth,
                 path.latency);
  PPTRAIN_ASSERT(slowest.bandwidth == path.bandwidth && slowest.latency == path.latency,
                 "{} and {} B/s", slowest.bandwidth, path.bandwidth);
}

/// What costs are made of stays far from what a double holds.
void check_values(const Cluster& cluster) {
  for (const DeviceKind& kind : cluster.device_kinds) {
    PPTRAIN_ASSERT(kind.memory >= 1e-18 && kind.memory <= 1e18, "{} bytes", kind.memory);
  }
  for (const NodeGroup& group : cluster.groups) {
    for (const Link& link : {group.link, group.uplink, group.host_link}) {
      PPTRAIN_ASSERT(link.bandwidth == 0.0 || (link.bandwidth >= 1e-18 && link.bandwidth <= 1e18),
                     "{} B/s", link.bandwidth);
      PPTRAIN_ASSERT(link.latency >= 0.0 && link.latency <= 1e9, "{} s", link.latency);
    }
  }
}

}  // namespace

void check_cluster(const Cluster& cluster) {
  check_links(cluster);
  check_values(cluster);
  PPTRAIN_ASSERT(!describe_cluster(cluster).empty(), "no description");
}

}  // namespace pptrain
