#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <vector>

namespace pptrain {

/// Half-open interval `[begin, end)` on a logical axis: layers, samples, heads, columns, elements.
///
/// Everything that pptrain divides is described by such intervals, so that moving data between
/// two different divisions is always the same operation: intersect and copy the overlaps.
struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  constexpr std::int64_t size() const { return end - begin; }
  constexpr bool empty() const { return end <= begin; }
  /// Whether `i` is in the interval; `begin` is, `end` is not.
  constexpr bool contains(std::int64_t i) const { return begin <= i && i < end; }
  constexpr auto operator<=>(const Interval&) const = default;
};

/// Whether one of the intervals has it.
inline bool contains(const std::vector<Interval>& intervals, std::int64_t i) {
  return std::any_of(intervals.begin(), intervals.end(),
                     [i](const Interval& one) { return one.contains(i); });
}

/// The common part of two intervals; empty (`begin == end`) when there is none.
constexpr Interval intersect(Interval a, Interval b) {
  const std::int64_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

/// An overlap between interval `from` of one division and interval `to` of another.
struct Overlap {
  int from = 0;
  int to = 0;
  Interval interval;
  auto operator<=>(const Overlap&) const = default;
};

/// All non-empty overlaps of intervals with the parts of a division of the same axis (ascending),
/// by (from, to).
std::vector<Overlap> intersect(const std::vector<Interval>& from, const std::vector<Interval>& to);

/// Part `index` of `parts` nearly equal parts of `[0, size)`; the first ones get one more.
Interval even_part(std::int64_t size, int parts, int index);

/// `even_part` for every index.
std::vector<Interval> even_division(std::int64_t size, int parts);

/// Whether the intervals, in order, cover `[0, size)` without gap or overlap.
bool divides(const std::vector<Interval>& parts, std::int64_t size);

}  // namespace pptrain
