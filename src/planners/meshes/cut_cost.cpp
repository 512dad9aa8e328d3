#include "planners/meshes/cut_cost.hpp"

namespace pptrain {

CutCost::CutCost(const Cluster& cluster, const MeshCost& sender, const MeshCost& receiver)
    : CutCost(cluster, sender.mesh().stage(sender.samples()),
              receiver.mesh().stage(receiver.samples())) {}

CutCost::CutCost(const Cluster& cluster, const Mesh& sender, const Mesh& receiver) {
  for_each_pair(sender, receiver, [&](DeviceId a, DeviceId b, double samples) {
    pairs_.add(samples, cluster.path(a, b));
  });
}

}  // namespace pptrain
