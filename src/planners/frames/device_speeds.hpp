#pragma once

#include <map>
#include <utility>

#include "planners/frames/shape.hpp"

namespace pptrain {

/// How fast devices can be at most, for a bound that needs no division.
class DeviceSpeeds {
 public:
  explicit DeviceSpeeds(const Instance& instance) : instance_(instance) {}
  /// No plan of the shape takes less: every replica always computes at its best, on micro-batches of any size.
  double least_seconds(const Site& site, const Shape& shape) const;

 private:
  /// The least seconds of the whole model for a sample on a replica of devices of the kind.
  double seconds_of(int kind, int tensor) const;

  const Instance& instance_;
  mutable std::map<std::pair<int, int>, double> known_;
};

}  // namespace pptrain
