#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace pptrain {

/// The state of a simulation at a moment, as numbers that say what follows: two equal records,
/// taken where the programs have equal instructions before them, are followed by the same, as much
/// later as they lie apart. Seconds count from the moment. The parts of a simulation add theirs,
/// always in the same order.
class StateRecord {
 public:
  /// Adds a number that has to be equal in records that say the same.
  void add_count(std::int64_t count) { counts_.push_back(count); }
  /// Adds a time, counted from the moment of the state, that may differ by the slack of `same`.
  void add_seconds(double seconds) { seconds_.push_back(seconds); }
  /// Adds a number of bytes, which may differ by rounding.
  void add_bytes(double bytes) { bytes_.push_back(bytes); }

  /// Whether both say the same, but for rounding: seconds may differ by `slack`, bytes by 10^-9 of
  /// the largest number.
  bool same(const StateRecord& other, double slack) const {
    return counts_ == other.counts_ && close(seconds_, other.seconds_, slack) &&
           close(bytes_, other.bytes_, 1e-9 * largest(bytes_));
  }

 private:
  static double largest(const std::vector<double>& values) {
    double most = 0.0;
    for (const double value : values) most = std::max(most, std::abs(value));
    return most;
  }
  static bool close(const std::vector<double>& a, const std::vector<double>& b, double slack) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [slack](double x, double y) { return std::abs(x - y) <= slack; });
  }

  std::vector<std::int64_t> counts_;
  std::vector<double> seconds_;
  std::vector<double> bytes_;
};

}  // namespace pptrain
