#pragma once

#include <map>
#include <utility>
#include <vector>

#include "cost/stage_time.hpp"
#include "planners/ask/planner.hpp"

namespace pptrain {

/// One way to divide layers over the devices of a sub-mesh, row after row.
struct MeshDivision {
  int replicas = 1;
  int tensor_parallel = 1;
  std::vector<ReplicaGroup> row_kinds;  ///< distinct ones; `samples` is not set
  std::vector<int> row_kind;            ///< of each row
  std::vector<Link> replica_links;  ///< slowest link between the replicas of each shard, distinct
                                    ///< ones
};

/// What the cost of a stage on a sub-mesh depends on; sub-meshes in many places are alike.
struct MeshClass {
  std::vector<int> device_kinds;        ///< of each device
  std::vector<MeshDivision> divisions;  ///< all factorisations with rows in the profile, degrees
                                        ///< ascending
  Link slowest;                         ///< between any two devices
  double share = 0.0;                   ///< of the speed of the whole cluster

  int num_devices() const {
    return static_cast<int>(device_kinds.size());
  }  ///< devices of one sub-mesh
};

/// Devices [place, end) of the cluster as one stage.
struct SubMesh {
  int end = 0;
  int mesh_class = 0;
};

/// Alpa's sub-meshes along the devices of the cluster in order: 2^k devices of one node, or any
/// number of whole nodes; on a cluster of more than 32 nodes only whole units of neighbouring
/// nodes, about 32 of them. With restricted degrees only those divisions, and sub-meshes that have
/// one.
class SubMeshes {
 public:
  explicit SubMeshes(const SearchSpace& space);

  /// Devices of the cluster; places are 0 to this.
  int num_devices() const { return static_cast<int>(from_.size()) - 1; }
  /// The sub-meshes that begin at a place, by size.
  const std::vector<SubMesh>& from(int place) const { return from_[place]; }
  const std::vector<MeshClass>& classes() const {
    return classes_;
  }  ///< indexed by `SubMesh::mesh_class`
  /// Whether the place is between two nodes.
  bool between_nodes(int place) const { return between_nodes_[place]; }

 private:
  using ClassKey = std::vector<std::pair<int, int>>;  // node groups and how many devices; negative:
                                                      // a part of a node

  void add_parts(int node_begin, int node_end);
  void add(int begin, int end, const ClassKey& key);
  MeshClass make_class(int begin, int end) const;
  MeshDivision divide(int begin, int end, int tensor_parallel) const;

  const SearchSpace& space_;
  std::vector<int> degrees_;
  std::vector<double> speeds_;  // of each device kind, samples per second through the whole model
  std::vector<std::vector<SubMesh>> from_;
  std::vector<bool> between_nodes_;
  std::vector<MeshClass> classes_;
  std::map<ClassKey, int> known_;  // class, or -1 without a division
};

}  // namespace pptrain
