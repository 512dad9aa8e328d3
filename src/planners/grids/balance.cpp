#include "planners/grids/balance.hpp"

#include <algorithm>
#include <limits>

namespace pptrain {
namespace {

/// Smallest boundaries of a division whose largest `cost(stage, begin, end)` is least. The cost must
/// not fall when a stage grows.
template <class Cost>
std::vector<Interval> bottleneck_division(int stages, int layers, const Cost& cost) {
  // worst[i][begin]: least largest cost of the stages from i on for the layers from begin on.
  std::vector<std::vector<double>> worst(stages + 1,
                                         std::vector<double>(layers + 1, std::numeric_limits<double>::infinity()));
  worst[stages][layers] = 0.0;
  for (int i = stages - 1; i >= 0; --i) {
    for (int begin = i; begin <= layers - (stages - i); ++begin) {
      double& least = worst[i][begin];
      for (int end = begin + 1; end <= layers - (stages - 1 - i); ++end) {
        const double here = cost(i, begin, end);
        if (here > least) break;  // further on it is no less
        least = std::min(least, std::max(here, worst[i + 1][end]));
      }
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

std::vector<Interval> roomiest_division(const DivisionProblem& problem) {
  return bottleneck_division(problem.num_stages(), problem.num_layers(), [&](int i, int begin, int end) {
    return problem.memory_need(i, begin, end) / problem.memory(i);
  });
}

std::vector<Interval> balanced_division(const std::vector<double>& weights, int stages) {
  std::vector<double> sums = {0.0};
  for (const double weight : weights) sums.push_back(sums.back() + weight);
  return bottleneck_division(stages, static_cast<int>(weights.size()),
                             [&](int, int begin, int end) { return sums[end] - sums[begin]; });
}

}  // namespace pptrain
