#pragma once

#include <cstdint>
#include <vector>

#include "cluster/cluster.hpp"
#include "plan/plan.hpp"
#include "program/ties.hpp"

namespace pptrain {

/// A shift of the replicas of all stages at once, around and by whole nodes, that changes nothing:
/// each device comes to the place of one of its stage that has as many samples and as large a slice
/// of the state, on a node like its own, and what was on one node comes to one node. Such devices
/// do the same at the same time. Those of the first replicas of each stage, up to the shift,
/// represent the others: what is said of them holds for every place that they come to.
class ReplicaShift {
 public:
  /// Every device represents itself.
  explicit ReplicaShift(const Plan& plan);
  /// The shift with fewest representatives that the plan, which must outlive this, allows. Plans of
  /// stages in blocks allow none but the first, nor do those in which stages of unlike shapes
  /// exchange gradients of tied parameters.
  ReplicaShift(const Cluster& cluster, const Plan& plan, const std::vector<Tie>& ties);

  /// How often the shift takes devices elsewhere until they are back.
  int turns() const { return turns_; }
  /// Replicas of a stage that represent all.
  int replicas(int stage) const { return replicas_[static_cast<std::size_t>(stage)]; }
  /// How many of the plan's devices, in stage order, then replica, then shard, are representatives.
  int num_representatives() const { return first_.back(); }
  /// The numbers of the representatives among the plan's devices in that order.
  std::vector<int> representatives() const;
  /// For each of the plan's devices in that order the number, among them, of its representative.
  std::vector<int> representative_of_each() const;

  /// A device's place.
  struct Place {
    int stage = -1;
    int replica = 0;
    int member = 0;
  };
  /// Stage, replica and member of a device that the plan uses.
  Place place_of(DeviceId device) const { return places_[device.index()]; }
  /// The number, among representatives, of the one of a device.
  int representative_of(DeviceId device) const;
  /// How many shifts take a device's representative to it.
  int turns_to(DeviceId device) const;
  /// Where the device comes from that so many shifts take to `device`.
  DeviceId before(DeviceId device, int turns) const;

  /// The first of the uplinks' owners (`Uplink::owner`) that shifts take to one another, and how
  /// many they are.
  int first_owner(int owner) const {
    return owners_.empty() ? owner : owners_[static_cast<std::size_t>(owner)].first;
  }
  /// How many owners shifts take to one another, this one included.
  int num_owners(int owner) const {
    return owners_.empty() ? 1 : owners_[static_cast<std::size_t>(owner)].num;
  }

 private:
  struct Owner {
    int first = -1;
    int num = 1;
  };

  void set_turns(int turns);
  void find_owners(const std::vector<int>& shifted);

  const Plan* plan_;
  int turns_ = 1;
  std::vector<int> replicas_;  // by stage
  std::vector<int> first_;     // representative of each stage, and their number
  std::vector<Place> places_;  // by device
  std::vector<Owner> owners_;  // empty: each by itself
};

}  // namespace pptrain
