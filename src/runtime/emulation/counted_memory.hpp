#pragma once

#include <cstddef>
#include <string>

#include "base/ids.hpp"
#include "cluster/cluster.hpp"

namespace pptrain {

/// An emulated device as messages name it: "rank 3, device 3 (t4)".
std::string name_of(RankId rank, DeviceId device, const Cluster& cluster);

/// Memory of a device that is there on paper only.
class CountedMemory {
 public:
  CountedMemory(double capacity, std::string device)
      : capacity_(capacity), device_(std::move(device)) {}

  /// Throws `Error` (exit code 4) beyond the capacity, as a device would.
  void take(double bytes);
  /// Frees bytes that `take` has counted; the peak stays.
  void give_back(double bytes) { in_use_ -= bytes; }
  /// Most bytes that were in use at once so far.
  std::size_t peak_bytes() const { return static_cast<std::size_t>(peak_); }

 private:
  double capacity_;
  std::string device_;
  double in_use_ = 0.0;
  double peak_ = 0.0;
};

}  // namespace pptrain
