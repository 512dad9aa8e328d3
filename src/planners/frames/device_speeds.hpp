#pragma once

#include <map>
#include <utility>
#include <vector>

#include "planners/frames/shape.hpp"

namespace pptrain {

/// How fast devices can be at most, for a bound that needs no division.
class DeviceSpeeds {
 public:
  explicit DeviceSpeeds(const Instance& instance) : instance_(instance) {}
  /// No plan of the shape takes less: every replica always computes at its best, on micro-batches
  /// of any size.
  double least_seconds(const Site& site, const Shape& shape) const;

 private:
  /// The least seconds of each layer for a sample on a replica of devices of the kind, and last of
  /// the whole model.
  const std::vector<double>& seconds_of(int kind, int tensor) const;

  const Instance& instance_;
  mutable std::map<std::pair<int, int>, std::vector<double>> known_;
};

}  // namespace pptrain
