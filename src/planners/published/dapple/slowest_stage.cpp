#include "planners/published/dapple/slowest_stage.hpp"

#include <algorithm>

#include "base/infinity.hpp"

namespace pptrain {

SlowestStage::SlowestStage(int num_layers, int num_units, std::vector<int> unit_counts,
                           StageSeconds stage, CutSeconds cut)
    : num_layers_(num_layers),
      num_units_(num_units),
      unit_counts_(std::move(unit_counts)),
      stage_(std::move(stage)),
      cut_(std::move(cut)) {}

bool SlowestStage::solve(int begin, const Stop& stop) {
  best_.assign(index(num_layers_, num_units_) + 1, {infinity, {}});
  for (int end = begin + 1; end <= num_layers_; ++end) {
    if (stop.requested()) return false;
    for (int units = 1; units <= num_units_; ++units) find(begin, end, units);
  }
  return true;
}

/// The last stage takes the last units; fewer stages win ties.
void SlowestStage::find(int begin, int end, int units) {
  Best& best = best_[index(end, units)];
  const UnitStage alone = {{begin, end}, 0, units};
  best = {stage_(alone), alone};
  for (const int count : unit_counts_) {
    if (count >= units) break;
    const int first = units - count;
    for (int middle = end - 1; middle > begin; --middle) {
      const UnitStage last = {{middle, end}, first, count};
      const double seconds = stage_(last);
      if (seconds >= best.seconds) break;  // more layers take no less
      const double before = std::max(best_[index(middle, first)].seconds, cut_(middle));
      if (std::max(before, seconds) < best.seconds) best = {std::max(before, seconds), last};
    }
  }
}

std::vector<UnitStage> SlowestStage::stages(int end) const {
  std::vector<UnitStage> stages;
  for (int units = num_units_; units > 0; units = stages.back().first_unit) {
    stages.push_back(best_[index(end, units)].last);
    end = static_cast<int>(stages.back().layers.begin);
  }
  std::reverse(stages.begin(), stages.end());
  return stages;
}

}  // namespace pptrain
