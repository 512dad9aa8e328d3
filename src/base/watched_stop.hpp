#pragma once

#include <cstdint>

#include "base/stop.hpp"

namespace pptrain {

/// A stop that inner loops may ask at every step: it looks at the clock once in some thousand of
/// them.
class WatchedStop {
 public:
  explicit WatchedStop(const Stop& stop) : stop_(stop) {}

  /// Whether to end, after `steps` more that take nanoseconds each.
  bool requested(std::int64_t steps = 1) {
    left_ -= steps;
    if (left_ > 0 || requested_) return requested_;
    left_ = steps_between_;
    return requested_ = stop_.requested();
  }

 private:
  static constexpr std::int64_t steps_between_ = 10000;

  Stop stop_;
  std::int64_t left_ = steps_between_;
  bool requested_ = false;
};

}  // namespace pptrain
