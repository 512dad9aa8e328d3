#include "cost/state_slices.hpp"

#include <algorithm>
#include <cmath>

#include "base/infinity.hpp"
#include "cost/stage_time.hpp"
#include "cost/state_bytes.hpp"
#include "plan/uniformity.hpp"

namespace pptrain {
namespace {

bool may_have_slices(const Stage& stage) {
  return stage.zero_stage > 0 && stage.replicas > 1 && stage.zero_groups.empty() &&
         stage.blocks.empty();
}

/// What ZeRO divides of a member with load 1, in bytes.
double divided_bytes(const Instance& instance, const Stage& stage) {
  double parameters = 0.0;
  for (const Interval& layers : stage.layers) parameters += parameters_of(instance.profile, layers);
  const BytesPerParameter& bytes = instance.profile.bytes_per_parameter;
  const double each =
      bytes_per_parameter(bytes, stage, 1.0) - bytes_per_parameter(bytes, stage, infinity);
  return each * parameters / stage.tensor_parallel;
}

/// The room of each replica for a slice, as a part of what ZeRO divides.
std::vector<double> rooms_of(const Instance& instance, const Stage& stage,
                             const std::vector<double>& need) {
  const double divided = divided_bytes(instance, stage);
  std::vector<double> rooms;
  for (int j = 0; j < stage.replicas; ++j) {
    double room = infinity;
    for (int k = 0; k < stage.tensor_parallel; ++k) {
      const DeviceId device =
          stage.devices[static_cast<std::size_t>(j)][static_cast<std::size_t>(k)];
      const double left = instance.cluster.kind_of(device).memory - need[device.index()];
      const double whole = member_load(stage, k) * divided;
      room = std::min(room, 1.0 / stage.slices_of(j) + left / whole);
    }
    rooms.push_back(room);
  }
  return rooms;
}

bool lacks_memory(const Cluster& cluster, const Stage& stage, const std::vector<double>& need) {
  const auto lacks = [&](DeviceId device) {
    return need[device.index()] > cluster.kind_of(device).memory;
  };
  return std::any_of(stage.devices.begin(), stage.devices.end(),
                     [&](const auto& row) { return std::any_of(row.begin(), row.end(), lacks); });
}

}  // namespace

/// Replicas with less room than an equal part of what is left fill it and leave more for the
/// others, until all others have room for an equal part.
std::optional<double> largest_slice(const std::vector<SliceRoom>& rooms) {
  for (double filled = 0.0;;) {
    double left = 1.0;
    int replicas = 0;
    for (const SliceRoom& room : rooms) {
      if (room.part <= 0.0) return std::nullopt;
      if (room.part <= filled) left -= room.replicas * room.part;
      if (room.part > filled) replicas += room.replicas;
    }
    if (replicas == 0) return left <= 0.0 ? std::optional(filled) : std::nullopt;
    const double equal = left / replicas;
    double least = infinity;
    for (const SliceRoom& room : rooms) {
      if (room.part > filled) least = std::min(least, room.part);
    }
    if (least >= equal) return equal;
    filled = least;
  }
}

std::vector<Interval> slices_by_room(const std::vector<double>& rooms) {
  std::vector<SliceRoom> each;
  for (const double room : rooms) each.push_back({1, room});
  const std::optional<double> largest = largest_slice(each);
  if (!largest) return {};
  const auto whole = static_cast<std::int64_t>(rooms.size()) * slice_units;
  std::vector<std::int64_t> sizes;
  std::int64_t left = whole;
  for (const double room : rooms) {
    const double part = std::min(room, *largest) * static_cast<double>(whole);
    sizes.push_back(std::max<std::int64_t>(1, std::llround(std::floor(part))));
    left -= sizes.back();
  }
  for (std::size_t j = 0; left > 0 && j < sizes.size(); ++j) {
    if (rooms[j] * static_cast<double>(whole) < static_cast<double>(sizes[j] + 1)) continue;
    ++sizes[j];
    --left;
  }
  *std::max_element(sizes.begin(), sizes.end()) += left;  // a few units, where nobody has room for
                                                          // one or all have one
  std::vector<Interval> slices;
  std::int64_t begin = 0;
  for (const std::int64_t size : sizes) {
    slices.push_back({begin, begin + size});
    begin += size;
  }
  return slices;
}

Plan with_slices_by_room(const Instance& instance, Plan plan, const std::vector<double>& need) {
  for (Stage& stage : plan.stages) {
    if (!may_have_slices(stage) || !lacks_memory(instance.cluster, stage, need)) continue;
    std::vector<Interval> slices = slices_by_room(rooms_of(instance, stage, need));
    if (!slices.empty())
      stage.zero_slices = is_even(slices) ? std::vector<Interval>() : std::move(slices);
  }
  return plan;
}

}  // namespace pptrain
