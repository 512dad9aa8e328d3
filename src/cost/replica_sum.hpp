#pragma once

#include <vector>

#include "cluster/cluster.hpp"
#include "plan/plan.hpp"

namespace pptrain {

/// Collectives over the replicas of one shard of a mesh, with their links looked up: a flat ring of
/// all, or where ZeRO divides the state in several groups of replicas two levels, within the groups
/// and then of each slice between them.
class ReplicaSum {
 public:
  /// A ring of `members`, each with `share` of the bytes.
  struct Ring {
    int members = 1;
    Link slowest = {};
    double share = 1.0;
    /// Seconds of an all-reduce of the ring's share of `bytes`.
    double seconds(double bytes) const;
    bool operator==(const Ring& other) const;
  };

  ReplicaSum(const Cluster& cluster, const Stage& mesh, int shard);
  /// One group.
  explicit ReplicaSum(const Ring& all) : within_{all} {}

  /// All-reduce of `bytes` in the slowest group; half of it gathers or scatters them.
  double within_seconds(double bytes) const;
  /// All-reduce of the slices of as much between the groups; those of a node share its uplink.
  double across_seconds(double bytes) const { return across_.seconds(bytes); }
  /// Seconds of an all-reduce of `bytes` over all replicas: within the groups, then between them.
  double seconds(double bytes) const { return within_seconds(bytes) + across_seconds(bytes); }

  const std::vector<Ring>& within() const { return within_; }  ///< distinct ones
  /// The ring between the groups; of one member where there is one group.
  const Ring& across() const { return across_; }
  bool operator==(const ReplicaSum&) const = default;

 private:
  std::vector<Ring> within_;
  Ring across_;
};

/// The sums of every shard of the mesh.
std::vector<ReplicaSum> replica_sums(const Cluster& cluster, const Stage& mesh);

/// The fewest replicas that divide the state of a stage among themselves; where their slices are
/// not equal, as many as would each have the largest one.
double least_sharers(const Stage& mesh);

}  // namespace pptrain
