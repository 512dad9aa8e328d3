#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/interval.hpp"

namespace pptrain {

/// Logical axis along which a parameter or a value may be divided over a tensor-parallel group.
enum class ShardAxis { none, heads, columns, vocabulary, classes, inputs, experts };

std::string to_string(ShardAxis axis);
/// The axes that parameters are divided along, and their names in plans and profiles.
const std::vector<ShardAxis>& shard_axes();
const std::vector<std::string>& shard_axis_names();

/// How a product of activations with weights is divided over a tensor-parallel group: not at all,
/// by columns of the output, or by rows of the input (Shoeybi et al., Megatron-LM, 2019, section
/// 3); or each member has the whole weights of some experts and computes the rows that go to these
/// (Lepikhin et al., "GShard", 2020). By `exchange` each member has the whole weights of some
/// experts too, but samples of its own: their rows are sent to the members with their experts, and
/// results come back. Every member then has all else of the layer whole.
enum class WeightDivision { none, columns, rows, experts, exchange };

/// How a dimension of size groups * (axis size / sharing) * unit is divided by intervals of an
/// axis. `sharing` positions of the axis need the same unit: query heads and their key head. The
/// part [b, e) has, in each group g, the units [b / sharing, e / sharing) with the end rounded up;
/// parts that share a unit all have it.
struct AxisDivision {
  ShardAxis axis = ShardAxis::none;
  std::int64_t groups = 1;
  std::int64_t unit = 1;
  std::int64_t sharing = 1;

  /// Units of each group that the part needs.
  Interval units(Interval part) const {
    return {part.begin / sharing, (part.end + sharing - 1) / sharing};
  }
  /// Length of the dimension that the part has.
  std::int64_t size_of(Interval part) const { return groups * units(part).size() * unit; }
  bool operator==(const AxisDivision&) const = default;
};

}  // namespace pptrain
