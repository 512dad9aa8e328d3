#pragma once

#include <optional>
#include <vector>

#include "cost/cost.hpp"

namespace pptrain {

/// Replicas of a stage that have room for equally large slices of what ZeRO divides.
struct SliceRoom {
  int replicas = 1;
  double part = 0.0;  ///< room of each, as a part of the whole; below 0: a replica lacks memory
                      ///< without any slice
};

/// The largest slice, as a part of the whole, where slices are as equal as the rooms allow; nothing
/// where the rooms together are less than the whole, or a replica has none.
std::optional<double> largest_slice(const std::vector<SliceRoom>& rooms);

/// A whole that is divided by room has so many units for each replica.
constexpr int slice_units = 256;
/// Slices as equal as the rooms allow, in units; `rooms`: of each replica, as a part of the whole.
/// Empty where the rooms together are less than the whole, or a replica has none.
std::vector<Interval> slices_by_room(const std::vector<double>& rooms);

/// The plan with slices by room in each stage of which a device needs more than its memory, and
/// whose replicas are one run that divides the state; other stages, and those in which no slices
/// fit, stay as they are. `need`: bytes of each device of the cluster with the plan's own slices.
Plan with_slices_by_room(const Instance& instance, Plan plan, const std::vector<double>& need);

}  // namespace pptrain
