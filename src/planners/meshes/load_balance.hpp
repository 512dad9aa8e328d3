#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace pptrain {

/// Devices that are alike and share a load of whole units with others: samples of a micro-batch for
/// replicas, heads or columns for tensor-parallel members.
struct LoadClass {
  int count = 1;                ///< devices
  double fixed_bytes = 0.0;     ///< what each needs whatever its share
  double bytes_per_unit = 0.0;  ///< what it needs more for each unit
  double memory = 0.0;          ///< what it has

  /// Bytes that a device with so many units needs.
  double need(std::int64_t units) const {
    return fixed_bytes + bytes_per_unit * static_cast<double>(units);
  }
};

/// What the devices of one class get: `units` each, and the first `num_more` of them one more.
struct ClassShare {
  std::int64_t units = 0;
  int num_more = 0;
  std::int64_t most() const {
    return units + (num_more > 0 ? 1 : 0);
  }  ///< units of the device that gets most
  bool operator==(const ClassShare&) const = default;
};

/// Seconds of `units` units on a device of class `load_class`. Whale's own case is units / (FLOP
/// per second). Where they fall with more units (a noisy measurement) the division is valid, but
/// may not be the best.
using LoadSeconds = std::function<double(int load_class, std::int64_t units)>;

/// Shares of a load, every device at least one unit and none more than its memory holds.
struct LoadBalance {
  std::vector<ClassShare> shares;  ///< of each class
  double seconds = 0.0;            ///< of the slowest device
};

/// Divides `total` units (at least one for each device) so that the slowest device takes the least
/// time; of those divisions the one whose other devices are done soonest too, later units to the
/// class with the lowest memory utilisation, then to the first. Nothing when memory is too small.
///
/// This is where Whale's Algorithm 1 ends when it shifts one unit at a time and a device stays on
/// the overloaded list until it fits (as printed it leaves the list after its first shift, fitting
/// or not). Takes O(K^2 log^2 total) calls of `seconds` for K classes, whatever the number of
/// devices.
std::optional<LoadBalance> balance_load(const std::vector<LoadClass>& classes, std::int64_t total,
                                        const LoadSeconds& seconds);

/// The class that is short of memory when nothing fits: the shortest one in the division whose
/// largest shortage is least.
struct Shortage {
  int load_class = 0;
  double bytes = 0.0;              ///< that a device of it lacks
  std::vector<ClassShare> shares;  ///< that division
};
Shortage least_shortage(const std::vector<LoadClass>& classes, std::int64_t total);

/// Units of each device, `classes_of_devices` saying which class each one belongs to.
std::vector<std::int64_t> units_of_devices(const std::vector<ClassShare>& shares,
                                           const std::vector<int>& classes_of_devices);

}  // namespace pptrain
