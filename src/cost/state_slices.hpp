#pragma once

#include <optional>
#include <vector>

#include "cost/cost.hpp"

namespace pptrain {

/// Replicas of a stage that have room for equally large slices of what ZeRO divides.
struct SliceRoom {
  int replicas = 1;
  double part = 0.0;  ///< room of each, as a part of the whole; below 0: a replica lacks memory without any slice
};

/// The largest slice, as a part of the whole, where slices are as equal as the rooms allow; nothing where the rooms
/// together are less than the whole, or a replica has none.
std::optional<double> largest_slice(const std::vector<SliceRoom>& rooms);

/// That division, of a whole of `slice_units` for each replica, by the room of each as a part of the whole; nothing
/// where there is none.
std::vector<Interval> slices_by_room(const std::vector<double>& rooms);
constexpr int slice_units = 256;

/// The plan with slices by room in each stage of which a device needs more than its memory, and whose replicas are one
/// run that divides the state; other stages, and those in which no slices fit, stay as they are. `need`: bytes of each
/// device of the cluster with the plan's own slices.
Plan with_slices_by_room(const Instance& instance, Plan plan, const std::vector<double>& need);

}  // namespace pptrain
