#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "planners/meshes/placement.hpp"

namespace pptrain {

/// The placements that a search looks at.
struct PlacementRules {
  std::vector<int> replicas;  ///< that a stage may have, ascending
  bool rest = true;           ///< whether a stage may also have all devices that are left
  std::vector<PlacementPolicy> policies = {
      PlacementPolicy::fresh_first, PlacementPolicy::append_first, PlacementPolicy::scatter_first};
  int most_started_nodes = 0;  ///< used in part when the next stage is placed; 0: any number
};

/// A stage on its devices.
struct PlacedStage {
  int replicas = 0;
  int num_left = 0;          ///< devices for the stages behind it
  std::vector<int> earlier;  ///< devices of each kind that are used before it
  std::vector<int> used;     ///< devices of each kind that are used before it and by it
  std::vector<TakenDevices> taken;
  Link slowest;   ///< between two of its devices
  int state = 0;  ///< of the devices behind it
};

/// How a stage can be placed behind others.
struct Placement {
  int stage = 0;  ///< index of a placed stage that costs the same and can go on in the same ways
  PlacementPolicy policy = PlacementPolicy::append_first;
  std::vector<TakenDevices> taken;  ///< on the nodes that the stage before it is on
};

/// DAPPLE's placements composed stage by stage, from the first stage to the last. Placements that
/// differ only in nodes that stand for each other (of one group, in the same order, nothing of them
/// used later) are one.
///
/// Nodes are used in file order, so those that are fresh are always the last ones.
class PlacementGraph {
 public:
  /// Nothing when there are more than `most_links` pairs of stages that can follow each other.
  static std::optional<PlacementGraph> build(const Cluster& cluster, const PlacementRules& rules,
                                             double most_links);

  const std::vector<PlacedStage>& stages() const {
    return stages_;
  }  ///< indexed by `Placement::stage`
  /// How the first stage can be placed.
  const std::vector<Placement>& first() const { return states_.front(); }
  /// How the stage behind a placed one can be placed; not at all where no devices are left.
  const std::vector<Placement>& next(int stage) const { return states_[stages_[stage].state]; }
  /// Pairs of stages that can follow each other.
  double num_links() const { return num_links_; }
  /// Indices into `stages`, those with fewest devices left first.
  std::vector<int> last_stages_first() const;

 private:
  using Key = std::vector<int>;

  explicit PlacementGraph(const Cluster& cluster) : cluster_(&cluster) {}
  std::vector<Placement> placements(const PlacementRules& rules, const DeviceUse& use);
  int stage_index(const std::vector<TakenDevices>& taken, const DeviceUse& before,
                  const DeviceUse& after);
  int state_index(const DeviceUse& use);
  static Key key_of(const std::vector<TakenDevices>& taken, const DeviceUse& after);

  const Cluster* cluster_;
  std::vector<PlacedStage> stages_;
  std::vector<std::vector<Placement>> states_;  // what can follow
  std::vector<DeviceUse> uses_;                 // of each state
  std::vector<double> num_entries_;             // of each state: stages that leave it
  double num_links_ = 0.0;
  std::map<Key, int> stage_index_;
  std::map<Key, int> state_index_;
};

}  // namespace pptrain
