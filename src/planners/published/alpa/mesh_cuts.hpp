#pragma once

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "planners/meshes/cut_pairs.hpp"
#include "planners/published/alpa/sharding_cost.hpp"

namespace pptrain {

/// A division of a sub-mesh.
struct PlacedDivision {
  int begin = 0;  ///< first device
  int mesh_class = 0;
  int division = 0;  ///< of the class's ShardingCost
  auto operator<=>(const PlacedDivision&) const = default;
};

/// e_i of cuts between divisions of neighbouring sub-meshes (docs/cost.md), for one
/// micro-batch size.
class MeshCuts {
 public:
  /// `costs`: of each mesh class; outlives this.
  MeshCuts(const Cluster& cluster, const std::vector<std::unique_ptr<ShardingCost>>& costs);

  /// Seconds of the cut, there and back; the receiver begins at the device behind the sender.
  /// Remembers links between devices, so that asking again is cheap.
  double seconds(const PlacedDivision& sender, const PlacedDivision& receiver,
                 double bytes_per_sample);
  /// No cut at this place is shorter.
  double least_seconds(int place) const { return least_[place]; }

 private:
  CutPairs pairs_between(const PlacedDivision& sender, const PlacedDivision& receiver) const;

  const Cluster& cluster_;
  const std::vector<std::unique_ptr<ShardingCost>>& costs_;
  std::vector<int> node_;        // of each device
  std::vector<int> group_;       // of each device
  std::vector<int> node_place_;  // of each device on its node
  std::vector<double> least_;
  std::map<std::tuple<int, int, int, int, int>, CutPairs> known_;
};

}  // namespace pptrain
