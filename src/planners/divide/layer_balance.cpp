#include "planners/divide/layer_balance.hpp"

#include <algorithm>
#include <cmath>

#include "base/infinity.hpp"
#include "base/watched_stop.hpp"

namespace pptrain {
namespace {

/// Least largest costs of the stages from some one on, by the first of their layers.
using Worst = std::vector<double>;

/// Smallest boundaries of a division whose largest `cost(stage, begin, end)` is least. The cost
/// must not fall when a stage grows. `least(stage, begin, last, rest)`: the least max(cost,
/// rest[end]) of the ends up to `last`.
template <class Cost, class Least>
std::vector<Interval> bottleneck_division(int stages, int layers, const Cost& cost,
                                          const Least& least) {
  std::vector<Worst> worst(static_cast<std::size_t>(stages) + 1,
                           Worst(static_cast<std::size_t>(layers) + 1, infinity));
  worst[stages][layers] = 0.0;
  for (int i = stages - 1; i >= 0; --i) {
    for (int begin = i; begin <= layers - (stages - i); ++begin) {
      worst[i][begin] = least(i, begin, layers - (stages - 1 - i), worst[i + 1]);
    }
  }
  std::vector<Interval> division;
  int begin = 0;
  for (int i = 0; i < stages; ++i) {
    int end = begin + 1;
    while (std::max(cost(i, begin, end), worst[i + 1][end]) > worst[0][0]) ++end;
    division.push_back({begin, end});
    begin = end;
  }
  return division;
}

}  // namespace

std::vector<Interval> roomiest_division(const DivisionProblem& problem, const Stop& stop) {
  WatchedStop watched(stop);
  const auto cost = [&](int i, int begin, int end) {
    return problem.memory_need(i, begin, end) / problem.memory(i);
  };
  const auto least = [&](int i, int begin, int last, const Worst& rest) {
    double found = infinity;
    for (int end = begin + 1; end <= last; ++end) {
      const double here = cost(i, begin, end);
      if (here > found || watched.requested()) break;  // further on it is no less
      found = std::min(found, std::max(here, rest[end]));
    }
    return found;
  };
  std::vector<Interval> division =
      bottleneck_division(problem.num_stages(), problem.num_layers(), cost, least);
  return watched.requested() ? even_division(problem.num_layers(), problem.num_stages()) : division;
}

std::vector<Interval> filled_division(const DivisionProblem& problem) {
  std::vector<Interval> division;
  int begin = 0;
  for (int i = 0; i < problem.num_stages(); ++i) {
    const int last = problem.num_layers() - (problem.num_stages() - 1 - i);
    int end = i + 1 == problem.num_stages() ? last : begin + 1;
    while (end < last && problem.fits(i, begin, end + 1)) ++end;
    division.push_back({begin, end});
    begin = end;
  }
  return division;
}

std::vector<Interval> division_by_shares(const std::vector<double>& before,
                                         const std::vector<double>& shares) {
  const int layers = static_cast<int>(before.size()) - 1;
  const int chunks = static_cast<int>(shares.size());
  std::vector<Interval> division;
  double target = 0.0;
  int begin = 0;
  for (int c = 0; c < chunks; ++c) {
    target += shares[c];
    int end = begin + 1;
    while (end < layers - (chunks - 1 - c) &&
           std::abs(before[end + 1] - target) <= std::abs(before[end] - target)) {
      ++end;
    }
    if (c + 1 == chunks) end = layers;
    division.push_back({begin, end});
    begin = end;
  }
  return division;
}

std::vector<Interval> balanced_division(const std::vector<double>& weights, int stages) {
  std::vector<double> sums = {0.0};
  for (const double weight : weights) sums.push_back(sums.back() + weight);
  const auto cost = [&](int, int begin, int end) { return sums[end] - sums[begin]; };
  // All stages being alike, what is left to the others falls where a stage grows: the best end is
  // where the two meet.
  const auto least = [&](int i, int begin, int last, const Worst& rest) {
    int below = begin;
    int meeting = last;
    while (meeting - below > 1) {
      const int middle = below + (meeting - below) / 2;
      (cost(i, begin, middle) < rest[middle] ? below : meeting) = middle;
    }
    const double found = std::max(cost(i, begin, meeting), rest[meeting]);
    return below == begin ? found : std::min(found, rest[below]);
  };
  return bottleneck_division(stages, static_cast<int>(weights.size()), cost, least);
}

}  // namespace pptrain
