#include "cost/time_curve.hpp"

#include <algorithm>

namespace pptrain {
namespace {

double between(const TimePoint& a, const TimePoint& b, double samples) {
  return a.seconds + (b.seconds - a.seconds) * (samples - a.samples) / (b.samples - a.samples);
}

/// Whether `b` lies on or above the line from `a` to `c`.
bool above_line(const TimePoint& a, const TimePoint& b, const TimePoint& c) {
  return (b.seconds - a.seconds) * (c.samples - a.samples) >=
         (c.seconds - a.seconds) * (b.samples - a.samples);
}

TimeCurve convex_below(const std::vector<TimePoint>& points) {
  TimeCurve curve;
  for (const TimePoint& point : points) {
    while (curve.size() >= 2 && above_line(curve[curve.size() - 2], curve.back(), point))
      curve.pop_back();
    curve.push_back(point);
  }
  return curve;
}

}  // namespace

double seconds_by_rows(const std::vector<TimePoint>& rows, double samples) {
  const auto above =
      std::lower_bound(rows.begin(), rows.end(), samples,
                       [](const TimePoint& row, double value) { return row.samples < value; });
  if (above == rows.begin()) return above->seconds * (samples / above->samples);
  if (above == rows.end()) return rows.back().seconds * (samples / rows.back().samples);
  return between(above[-1], *above, samples);
}

TimeCurve lower_curve(const std::vector<const std::vector<TimePoint>*>& rows, double most) {
  std::vector<TimePoint> points;
  points.reserve(rows.size() * (rows.front()->size() + 2));
  for (const std::vector<TimePoint>* of_one : rows) {
    points.push_back({1.0, seconds_by_rows(*of_one, 1.0)});
    for (const TimePoint& row : *of_one) {
      if (row.samples > 1.0 && row.samples < most) points.push_back(row);
    }
    if (most > 1.0) points.push_back({most, seconds_by_rows(*of_one, most)});
  }
  const auto before = [](const TimePoint& a, const TimePoint& b) {
    return a.samples < b.samples || (a.samples == b.samples && a.seconds < b.seconds);
  };
  if (rows.size() > 1) std::sort(points.begin(), points.end(), before);
  const auto same = [](const TimePoint& a, const TimePoint& b) { return a.samples == b.samples; };
  points.erase(std::unique(points.begin(), points.end(), same), points.end());
  for (std::size_t i = points.size() - 1; i-- > 0;) {
    points[i].seconds = std::min(points[i].seconds, points[i + 1].seconds);
  }
  return convex_below(points);
}

double seconds_at(const TimeCurve& curve, double samples) {
  for (std::size_t i = 1; i < curve.size(); ++i) {
    if (samples <= curve[i].samples) return between(curve[i - 1], curve[i], samples);
  }
  return curve.back().seconds;
}

}  // namespace pptrain
