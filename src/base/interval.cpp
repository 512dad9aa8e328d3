#include "base/interval.hpp"

namespace pptrain {

std::vector<Overlap> intersect(const std::vector<Interval>& from, const std::vector<Interval>& to) {
  std::vector<Overlap> overlaps;
  for (int i = 0; i < static_cast<int>(from.size()); ++i) {
    const auto first = std::partition_point(
        to.begin(), to.end(), [&](const Interval& part) { return part.end <= from[i].begin; });
    for (auto part = first; part != to.end() && part->begin < from[i].end; ++part) {
      const Interval common = intersect(from[i], *part);
      if (!common.empty()) overlaps.push_back({i, static_cast<int>(part - to.begin()), common});
    }
  }
  return overlaps;
}

Interval even_part(std::int64_t size, int parts, int index) {
  const std::int64_t base = size / parts;
  const std::int64_t extra = size % parts;
  const std::int64_t begin = index * base + std::min<std::int64_t>(index, extra);
  return {begin, begin + base + (index < extra ? 1 : 0)};
}

std::vector<Interval> even_division(std::int64_t size, int parts) {
  std::vector<Interval> division;
  division.reserve(parts);
  for (int i = 0; i < parts; ++i) division.push_back(even_part(size, parts, i));
  return division;
}

bool divides(const std::vector<Interval>& parts, std::int64_t size) {
  std::int64_t position = 0;
  for (const Interval& part : parts) {
    if (part.begin != position || part.end < part.begin) return false;
    position = part.end;
  }
  return position == size;
}

}  // namespace pptrain
