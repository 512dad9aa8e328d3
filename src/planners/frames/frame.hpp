#pragma once

#include <cstdint>
#include <vector>

#include "planners/grids/grid.hpp"
#include "planners/planner.hpp"

namespace pptrain {

/// Which stages compute F again instead of storing what it made.
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
  ZeroGroup zero_group = ZeroGroup::replicas;
  auto operator<=>(const FrameModes&) const = default;
};

/// What is fixed of a plan before its layers are divided: a uniform grid on a site, a micro-batch size, what saves
/// memory, and the schedule with its chunks.
struct Frame {
  int site = 0;  ///< index into the sites of the search
  Grid grid;
  std::int64_t micro_batch = 1;
  FrameModes modes;
  ScheduleChoice schedule;
};

/// Grids on so many devices that the restrictions allow and the instance has rows and layers for, ascending.
std::vector<Grid> frame_grids(const SearchSpace& space, int num_devices);

/// Micro-batch sizes of a grid that the restrictions allow, ascending: a whole number of samples for each replica, and
/// where `uneven` every size with a sample for each.
std::vector<std::int64_t> frame_micro_batches(const SearchSpace& space, const Grid& grid, bool uneven);

/// What the restrictions let the stages of `replicas` replicas do, the plainest first.
std::vector<FrameModes> frame_modes(const Restrictions& restrictions, int replicas);

/// Schedules that the restrictions let so many stages have, the most promising first.
std::vector<ScheduleChoice> frame_schedules(const SearchSpace& space, int stages);

}  // namespace pptrain
