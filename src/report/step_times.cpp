#include "report/step_times.hpp"

#include <cmath>

namespace pptrain {

std::vector<double> training_seconds(const MetricsHistory& history) {
  const std::vector<std::int64_t>& steps = history.integers.at("steps/step");
  const std::vector<double>& iterations = history.reals.at("steps/iteration_seconds");
  std::vector<double> seconds;
  double sum = 0.0;
  std::int64_t before = 0;
  for (std::size_t row = 0; row < steps.size(); ++row) {
    if (std::isfinite(iterations[row]))
      sum += iterations[row] * static_cast<double>(steps[row] - before);
    before = steps[row];
    seconds.push_back(sum);
  }
  return seconds;
}

}  // namespace pptrain
