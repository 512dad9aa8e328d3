#pragma once

#include <vector>

#include "planners/stages/stage_mesh.hpp"

namespace pptrain {

/// e_i of the cut between two meshes as COST.md defines it: for `bytes_per_sample` that cross it.
class CutCost {
 public:
  CutCost(const Cluster& cluster, const MeshCost& sender, const MeshCost& receiver);
  CutCost(const Cluster& cluster, const Stage& sender, const Stage& receiver);
  double seconds(double bytes_per_sample) const;

 private:
  struct Pair {
    double samples = 0.0;
    Link link;
  };
  std::vector<Pair> pairs_;  // none of which is never slower than another
};

}  // namespace pptrain
