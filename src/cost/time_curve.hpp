#pragma once

#include <vector>

namespace pptrain {

/// Seconds of a layer for a number of samples.
struct TimePoint {
  double samples = 0.0;
  double seconds = 0.0;
};

/// Seconds over samples, linear between its points: convex and nowhere decreasing, so that what
/// holds of an even division holds of any (Jensen).
using TimeCurve = std::vector<TimePoint>;

/// Seconds for `samples` by rows in ascending order: linear between two of them, proportional
/// outside.
double seconds_by_rows(const std::vector<TimePoint>& rows, double samples);

/// The largest such curve on [1, most] that lies nowhere above any of these.
TimeCurve lower_curve(const std::vector<const std::vector<TimePoint>*>& rows, double most);

/// Value of the curve for samples in [1, most].
double seconds_at(const TimeCurve& curve, double samples);

}  // namespace pptrain
