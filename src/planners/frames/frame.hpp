#pragma once

#include <cstdint>
#include <vector>

#include "planners/ask/planner.hpp"
#include "planners/frames/placed_shape.hpp"

namespace pptrain {

/// A rule of which stages compute F again instead of storing what it made.
enum class RecomputeRule {
  none,
  selective,
  full,
  needed,  ///< stages whose activations do not fit otherwise
};

/// What the stages of a frame do to save memory.
struct FrameModes {
  RecomputeRule recompute = RecomputeRule::none;
  int zero_stage = 0;
  bool zero_by_need = false;  ///< stages that do not fit by `zero_stage` have the weakest stronger
                              ///< one by which they do
  /// Whether unlike replicas may hold unlike slices of what ZeRO divides, where equal ones do not
  /// fit.
  bool unlike_slices = true;
};

/// Whether the cluster is so small that a search can afford frames that seldom help: nodes that
/// lose some of their devices, every way of saving memory, whatever is not much slower by its bound
/// than the best plan.
bool is_small(const Instance& instance);

/// Micro-batch sizes that the restrictions allow, ascending, with a sample for each of so many
/// replicas. Where these do not divide one, some have a sample more than others, and bounds count
/// those; of hundreds of replicas only sizes that they divide.
std::vector<std::int64_t> frame_micro_batches(const SearchSpace& space, int most_data);

/// What the restrictions let stages do about recomputation, the plainest first. A rule is worth a
/// look where those before it do not fit.
std::vector<RecomputeRule> recompute_rules(const SearchSpace& space);
/// What stages compute again at least by a rule.
Recompute weakest(RecomputeRule rule);

/// ZeRO stages that the restrictions allow, ascending. Stage 1 takes no longer than any above it.
std::vector<int> zero_stages(const Restrictions& restrictions, const PlacedShape& placed);

/// Who may divide what ZeRO divides, by the restrictions alone: all replicas first.
std::vector<ZeroGroup> zero_groups(const Restrictions& restrictions);
/// Who divides the state of a stage on its devices where a step would have it so: what the
/// restrictions say, or `wanted`, and all replicas where nodes do not have as many each.
ZeroGroup zero_group_under(const SearchSpace& space, const Stage& stage, ZeroGroup wanted);
/// The choices for stages on these devices: those of a node where every node has as many replicas
/// of a stage, several of them, and a stage is on more than one node.
std::vector<ZeroGroup> zero_groups(const SearchSpace& space, const std::vector<DeviceRows>& meshes);

/// Schedules that the restrictions let so many stages have, the most promising first.
std::vector<ScheduleChoice> frame_schedules(const SearchSpace& space, int stages);

}  // namespace pptrain
