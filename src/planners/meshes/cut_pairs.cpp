#include "planners/meshes/cut_pairs.hpp"

#include <algorithm>

#include "planners/meshes/frontier.hpp"

namespace pptrain {

void CutPairs::add(double samples, const Link& link) {
  const Pair pair = {samples, link};
  const auto covers = [](const Pair& a, const Pair& b) {
    return a.samples * b.link.bandwidth >= b.samples * a.link.bandwidth &&
           a.link.latency >= b.link.latency;
  };
  if (admit(pairs_, pair, covers)) pairs_.push_back(pair);
}

double CutPairs::seconds(double bytes_per_sample) const {
  double slowest = 0.0;
  for (const Pair& pair : pairs_) {
    slowest = std::max(
        slowest, 2.0 * (pair.samples * bytes_per_sample / pair.link.bandwidth + pair.link.latency));
  }
  return slowest;
}

}  // namespace pptrain
