#include "planners/stages/cut_cost.hpp"

#include <algorithm>

namespace pptrain {

CutCost::CutCost(const Cluster& cluster, const MeshCost& sender, const MeshCost& receiver)
    : CutCost(cluster, sender.mesh().stage(sender.samples()), receiver.mesh().stage(receiver.samples())) {}

CutCost::CutCost(const Cluster& cluster, const Stage& sender, const Stage& receiver) {
  const auto add = [this](const Pair& pair) {
    const auto covers = [](const Pair& a, const Pair& b) {
      return a.samples * b.link.bandwidth >= b.samples * a.link.bandwidth && a.link.latency >= b.link.latency;
    };
    if (std::any_of(pairs_.begin(), pairs_.end(), [&](const Pair& p) { return covers(p, pair); })) return;
    std::erase_if(pairs_, [&](const Pair& p) { return covers(pair, p); });
    pairs_.push_back(pair);
  };
  for_each_pair(sender, receiver, [&](DeviceId a, DeviceId b, double samples) { add({samples, cluster.path(a, b)}); });
}

double CutCost::seconds(double bytes_per_sample) const {
  double slowest = 0.0;
  for (const Pair& pair : pairs_) {
    slowest = std::max(slowest, 2.0 * (pair.samples * bytes_per_sample / pair.link.bandwidth + pair.link.latency));
  }
  return slowest;
}

}  // namespace pptrain
