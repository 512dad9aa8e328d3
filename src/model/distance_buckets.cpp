#include <algorithm>
#include <cmath>

#include "model/operators.hpp"

namespace pptrain {

/// The logarithms are fp32, as those of the published networks: where they are whole numbers but
/// for rounding, other arithmetic would take another bucket.
std::int64_t bucket_of(const DistanceBuckets& buckets, std::int64_t distance) {
  const std::int64_t count = buckets.both_sides ? buckets.count / 2 : buckets.count;
  const std::int64_t first = buckets.both_sides && distance > 0 ? count : 0;
  const std::int64_t far =
      buckets.both_sides ? std::abs(distance) : std::max<std::int64_t>(-distance, 0);
  const std::int64_t exact = count / 2;
  if (far < exact) return first + far;
  const auto each = static_cast<float>(exact);
  const auto range = static_cast<float>(
      std::log(static_cast<double>(buckets.largest) / static_cast<double>(exact)));
  const float share =
      std::log(static_cast<float>(far) / each) / range * static_cast<float>(count - exact);
  return first + std::min(count - 1, exact + static_cast<std::int64_t>(share));
}

}  // namespace pptrain
