#pragma once

#include "planners/meshes/cut_pairs.hpp"
#include "planners/meshes/stage_mesh.hpp"

namespace pptrain {

/// e_i of the cut between two meshes (docs/cost.md): for `bytes_per_sample` that cross it.
class CutCost {
 public:
  CutCost(const Cluster& cluster, const MeshCost& sender, const MeshCost& receiver);
  CutCost(const Cluster& cluster, const Mesh& sender, const Mesh& receiver);
  /// Seconds of the cut, forwards and back, between the slowest pair of devices.
  double seconds(double bytes_per_sample) const { return pairs_.seconds(bytes_per_sample); }

 private:
  CutPairs pairs_;
};

}  // namespace pptrain
