#pragma once

#include <cstdint>
#include <string_view>

#include "base/random.hpp"

namespace pptrain {

/// A sequence of random numbers that is the same every time.
class Draws {
 public:
  /// `purpose`: one sequence each.
  explicit Draws(std::string_view purpose) : random_(0, purpose) {}

  /// Uniform in [0, 1).
  double uniform() { return random_.uniform(next_++); }
  /// Uniform in [0, count); `count` is at least 1.
  std::size_t below(std::size_t count) { return random_.bits(next_++) % count; }

 private:
  CounterRandom random_;
  std::uint64_t next_ = 0;
};

}  // namespace pptrain
