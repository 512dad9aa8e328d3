#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.hpp"

// Who sums the gradients of a shard first, and who then sums which part of them between these
// groups.
namespace pptrain {

/// The k-th of n equal parts.
struct Fraction {
  int k = 0;
  int n = 1;
  /// Place in an array of length 1.
  double value() const { return static_cast<double>(k) / n; }
};

/// Replicas that hold the same shard, in the groups in which they sum its gradients first: replicas
/// in order, groups in the order of their first one.
using SumGroups = std::vector<std::vector<int>>;

/// The groups in which replicas sum first. Where ZeRO divides the state they are the groups that do
/// so. Else they are the replicas of each node, so that what crosses an uplink crosses it once,
/// where a node has several, and all replicas together where no node has or one has all. `nodes`:
/// the node of each device; empty: all are on one.
SumGroups sum_groups(const Stage& mesh, int shard, const std::vector<int>& nodes);

/// A part of every divided array that one replica of each group owns.
struct SliceOwners {
  Fraction begin;
  Fraction end;
  std::vector<int> replicas;  ///< in the order of the groups
};

/// The parts of an array between which no slice of any group begins or ends; nothing where all
/// replicas are one group. Groups of different size divide differently: their divisions are
/// intersected, as all others are.
std::vector<SliceOwners> common_slices(const SumGroups& groups);

}  // namespace pptrain
