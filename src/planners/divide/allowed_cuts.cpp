#include "planners/divide/allowed_cuts.hpp"

#include <algorithm>

namespace pptrain {

std::vector<Interval> with_allowed_cuts(const PlanRule* rule, std::vector<Interval> chunks) {
  if (rule == nullptr) return chunks;
  std::vector<std::int64_t> allowed;
  for (std::int64_t layer = 1; layer < chunks.back().end; ++layer) {
    if (rule->allows_cut(layer)) allowed.push_back(layer);
  }
  const std::ptrdiff_t cuts = std::ssize(chunks) - 1;
  if (std::ssize(allowed) < cuts) return {};
  std::ptrdiff_t first = 0;  // of those that are left
  for (std::ptrdiff_t c = 0; c < cuts; ++c) {
    const std::int64_t cut = chunks[static_cast<std::size_t>(c)].end;
    const auto behind = std::lower_bound(allowed.begin(), allowed.end(), cut);
    std::ptrdiff_t place = behind - allowed.begin();
    if (place > 0 && (behind == allowed.end() || cut - *std::prev(behind) < *behind - cut)) --place;
    place = std::clamp(place, first, std::ssize(allowed) - (cuts - c));
    chunks[static_cast<std::size_t>(c)].end = allowed[static_cast<std::size_t>(place)];
    chunks[static_cast<std::size_t>(c) + 1].begin = chunks[static_cast<std::size_t>(c)].end;
    first = place + 1;
  }
  return chunks;
}

std::int64_t next_allowed_cut(const PlanRule* rule, std::int64_t cut, int step,
                              std::int64_t num_layers) {
  cut += step;
  while (rule != nullptr && cut > 0 && cut < num_layers && !rule->allows_cut(cut)) cut += step;
  return cut;
}

}  // namespace pptrain
