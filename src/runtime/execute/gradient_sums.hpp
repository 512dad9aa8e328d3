#pragma once

#include <deque>
#include <vector>

#include "runtime/execute/gradient_reduction.hpp"
#include "runtime/execute/groups.hpp"

namespace pptrain {

/// The sums of the gradients of a shard over its replicas, in one level or two: within this
/// replica's group (`sum_groups`), then slice by slice between the groups, where everyone sums what
/// everyone sends to the owners of equal slices. What leaves a node so leaves it once, whatever the
/// number of its replicas. Every sum is formed in the order of the replicas of a group, then of the
/// groups.
///
/// Arrays are summed in the order in which they are added, which must be the same on all replicas.
class GradientSums final : public Pending {
 public:
  explicit GradientSums(PartGroups& groups, const GradientWire& wire = {});

  /// All replicas get the sum over all replicas of all of it.
  void add_all_reduce(float* data, std::size_t n);
  /// Member k of the group gets slices[k], summed over the group; of `ended`: see
  /// `GradientReduction`.
  void add_reduce_scatter(float* data, const std::vector<Interval>& slices,
                          std::function<void()> ended = {});
  /// Frees what sums that have ended hold (`GradientReduction::drop_ended`).
  void drop_ended();
  /// Sums this member's slice, `own` of an array of `size` elements, over the groups, behind the
  /// reduce-scatter that was added before. Nothing where all replicas are one group.
  void add_across(float* slice, Interval own, std::size_t size);

  bool test() override { return advance(&Pending::test); }
  bool join() override { return advance(&Pending::join); }
  std::string missing() const override;
  /// Arrays of reduce-scatters that have not ended.
  int num_open() const { return within_.num_open(); }

 private:
  bool advance(bool (Pending::*ended)());
  void add_two_levels(float* data, std::size_t n);
  void sum_across(float* slice, Interval own, std::size_t size, const std::function<void()>& ended);

  int member_;   ///< of this replica's group
  int members_;  ///< of it
  const std::vector<PartGroups::SharedSlice>& shared_slices_;
  GradientReduction within_;
  std::deque<GradientReduction> across_;  ///< of each shared slice
  GradientReduction gathers_;             ///< within, of what is summed
};

}  // namespace pptrain
