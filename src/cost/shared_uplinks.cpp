#include "cost/shared_uplinks.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/infinity.hpp"

namespace pptrain {

double shared_uplink_bandwidth(const Cluster& cluster, const std::vector<std::vector<DeviceId>>& rings) {
  std::map<std::pair<int, Uplink::Direction>, int> passed;  // by so many rings
  double least = infinity;
  for (const std::vector<DeviceId>& ring : rings) {
    for (const Uplink& uplink : cluster.ring_uplinks(ring)) {
      const int others = ++passed[{uplink.owner, uplink.direction}];
      least = std::min(least, uplink.link.bandwidth / others);
    }
  }
  return least;
}

double shared_uplink_bandwidth(const Cluster& cluster, const Stage& mesh, const std::vector<int>& replicas) {
  std::vector<std::vector<DeviceId>> rings(static_cast<std::size_t>(mesh.tensor_parallel));
  for (const int r : replicas) {
    for (std::size_t shard = 0; shard < rings.size(); ++shard) {
      rings[shard].push_back(mesh.devices[static_cast<std::size_t>(r)][shard]);
    }
  }
  return shared_uplink_bandwidth(cluster, rings);
}

}  // namespace pptrain
