#include "planners/published/alpa/sharding_bounds.hpp"

#include <algorithm>

#include "base/infinity.hpp"

namespace pptrain {

double weighed_run(const DivisionCost& division, const StageWeights& weights, int begin, int end) {
  const std::vector<double>& seconds = *division.passes[division.main_pass].sums;
  const std::vector<double>& reduction = *division.reductions[division.main_reduction].sums;
  return weights.seconds * (seconds[end] - seconds[begin]) +
         weights.reduction * (reduction[end] - reduction[begin]);
}

double weighed_begin(const DivisionCost& division, const StageWeights& weights) {
  return weights.seconds * division.passes[division.main_pass].fixed +
         weights.reduction * division.reductions[division.main_reduction].fixed;
}

ShardingBounds::ShardingBounds(const ShardingCost& cost, int num_layers, double in_flight)
    : cost_(cost), num_layers_(num_layers) {
  for (const DeviceClass& device : cost.device_classes()) {
    const double fewest = *std::min_element(device.samples.begin(), device.samples.end());
    least_workspace_.push_back(fewest * cost.workspace_per_sample());
    std::vector<double>& need = least_need_.emplace_back(1, 0.0);
    for (int l = 0; l < num_layers_; ++l) {
      double least = infinity;
      for (int d = 0; d < cost.num_divisions(); ++d) {
        least = std::min(least, cost.need(device, d, l, l + 1, in_flight));
      }
      need.push_back(need.back() + least);
    }
  }
}

bool ShardingBounds::may_fit(int begin, int end) const {
  constexpr double rounding = 1.0 - 1e-12;  // the sum is taken in another order than a plan's
  for (std::size_t q = 0; q < least_need_.size(); ++q) {
    const double need = least_need_[q][end] - least_need_[q][begin] + least_workspace_[q];
    if (need * rounding > cost_.device_classes()[q].memory) return false;
  }
  return true;
}

void ShardingBounds::find(const StageWeights& weights, int begin, double* row) const {
  const int num_divisions = cost_.num_divisions();
  std::vector<double> least(num_divisions, infinity);  // of layers [begin, end), the last one in
                                                       // this division
  for (int d = 0; d < num_divisions; ++d) least[d] = weighed_begin(cost_.division(d), weights);
  std::vector<double> next(num_divisions);
  for (int end = begin + 1; end <= num_layers_; ++end) {
    if (!may_fit(begin, end)) {
      std::fill(row + end, row + num_layers_ + 1, infinity);
      return;
    }
    for (int d = 0; d < num_divisions; ++d) {
      next[d] = least[d];
      for (int before = 0; before < num_divisions && end > begin + 1; ++before) {
        if (before == d) continue;
        const double change = weights.seconds * cost_.repartition_seconds(before, d, end - 1);
        next[d] =
            std::min(next[d], least[before] + change + weighed_begin(cost_.division(d), weights));
      }
    }
    for (int d = 0; d < num_divisions; ++d) {
      least[d] = next[d] + weighed_run(cost_.division(d), weights, end - 1, end);
    }
    row[end] = *std::min_element(least.begin(), least.end());
  }
}

}  // namespace pptrain
