#include "planners/published/alpa/mesh_cuts.hpp"

#include <algorithm>

namespace pptrain {

MeshCuts::MeshCuts(const Cluster& cluster, const std::vector<std::unique_ptr<ShardingCost>>& costs)
    : cluster_(cluster), costs_(costs), least_(cluster.num_devices() + 1, 0.0) {
  for (int node = 0; node < cluster.num_nodes(); ++node) {
    int place = 0;
    for (const DeviceId device : cluster.devices_of_node(node)) {
      node_.push_back(node);
      group_.push_back(cluster.group_of(device));
      node_place_.push_back(place++);
    }
  }
  double least_uplink = 0.0;
  for (std::size_t g = 0; g < cluster.groups.size(); ++g) {
    const double latency = cluster.groups[g].uplink.latency;
    least_uplink = g == 0 ? latency : std::min(least_uplink, latency);
  }
  for (int place = 1; place < cluster.num_devices(); ++place) {
    const bool inside = node_[place - 1] == node_[place];
    least_[place] = 2.0 * (inside ? cluster.groups[group_[place]].link.latency : least_uplink);
  }
}

double MeshCuts::seconds(const PlacedDivision& sender, const PlacedDivision& receiver,
                         double bytes_per_sample) {
  // Meshes on nodes of one group cost the same wherever they are.
  const int last = receiver.begin + costs_[receiver.mesh_class]->mesh().num_devices() - 1;
  const bool alike = group_[sender.begin] == group_[last];
  const int place = alike ? node_place_[receiver.begin] : cluster_.num_devices() + receiver.begin;
  const auto key =
      std::tuple(place, sender.mesh_class, sender.division, receiver.mesh_class, receiver.division);
  auto found = known_.find(key);
  if (found == known_.end()) found = known_.emplace(key, pairs_between(sender, receiver)).first;
  return found->second.seconds(bytes_per_sample);
}

CutPairs MeshCuts::pairs_between(const PlacedDivision& sender,
                                 const PlacedDivision& receiver) const {
  const DivisionCost& from = costs_[sender.mesh_class]->division(sender.division);
  const DivisionCost& to = costs_[receiver.mesh_class]->division(receiver.division);
  const int m = from.division->tensor_parallel;
  const int n = to.division->tensor_parallel;
  CutPairs pairs;
  std::tuple<double, int, int> last = {0.0, -1, -1};  // neighbouring pairs are often between the
                                                      // same nodes
  const auto add = [&](int x, int y, std::int64_t overlap) {
    const auto samples = static_cast<double>(overlap);
    if (last == std::tuple(samples, node_[x], node_[y])) return;
    last = {samples, node_[x], node_[y]};
    pairs.add(samples, cluster_.path(DeviceId(x), DeviceId(y)));
  };
  for (int i = 0, j = 0; i < from.division->replicas && j < to.division->replicas;) {
    const std::int64_t overlap = intersect(from.samples[i], to.samples[j]).size();
    for (int a = 0; a < m && overlap > 0; ++a) {
      const int x = sender.begin + i * m + a;
      const int y = receiver.begin + j * n;
      if (m == n) {
        add(x, y + a, overlap);
      } else {
        for (int b = 0; b < n; ++b) add(x, y + b, overlap);
      }
    }
    ++(from.samples[i].end <= to.samples[j].end ? i : j);
  }
  return pairs;
}

}  // namespace pptrain
