#include "cost/bubble.hpp"

#include <algorithm>

namespace pptrain {

double bubble_fraction(double busy_seconds, int num_devices, double iteration_seconds) {
  const double available = num_devices * iteration_seconds;
  if (available <= 0.0) return 0.0;
  return std::clamp(1.0 - busy_seconds / available, 0.0, 1.0);
}

double stretched_bubble(double fraction, double from_seconds, double to_seconds) {
  if (to_seconds == from_seconds) return fraction;
  return bubble_fraction((1.0 - fraction) * from_seconds, 1, to_seconds);
}

}  // namespace pptrain
