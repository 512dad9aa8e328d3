#pragma once

#include <cstddef>
#include <vector>

#include "io/run/metrics_history.hpp"

namespace pptrain {

/// How evenly the rows of a run went to its experts.
struct ExpertShares {
  std::vector<std::vector<double>> of_layers;  ///< of each expert in the rows of its layer, 0 to 1
  /// By row of the series: how many times the mean of its layer the fullest expert of all has; NaN
  /// where none counted.
  std::vector<double> fullest;
};

/// Shares are those of the rows from `first_row` on. Empty where the run has no experts.
ExpertShares expert_shares(const MetricsHistory& history, std::size_t first_row);

}  // namespace pptrain
