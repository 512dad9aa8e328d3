#include "planners/published/amp/grid_trials.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pptrain {

GridTrials::GridTrials(const SearchSpace& space, GridsUnder grids)
    : space_(space), grids_under_(std::move(grids)), problems_(space) {
  for (const Grid& grid : grids_under_(space.restrictions)) {
    const std::string why_not = why_not_in_space(grid, space.instance, space.restrictions);
    if (why_not.empty()) {
      in_space_.push_back(grid);
    } else if (result_.why_not.empty()) {
      result_.why_not = fmt::format("{}: {}", to_string(grid), why_not);
    }
  }
}

bool GridTrials::try_division(const Grid& grid, std::int64_t samples,
                              const std::vector<Interval>& layers) {
  const DivisionProblem problem = problems_.problem(grid, samples);
  ++result_.num_examined;
  if (!problem.fits(layers)) {
    nearest_.offer(overrun_of(space_, grid, problem, layers));
    return false;
  }
  const double seconds = problem.iteration_seconds(layers);
  result_.found.push_back({grid, samples, {layers, seconds}, seconds, {}});
  return true;
}

bool GridTrials::stopped() {
  if (result_.found.empty() || !space_.stop.requested()) return false;
  result_.complete = false;
  return true;
}

UniformCandidates GridTrials::finish(const Fits& fits) {
  if (!result_.found.empty()) {
    result_.why_not.clear();
  } else if (nearest_.any()) {
    result_.why_not =
        nearest_.text() +
        remedy(space_.restrictions, fits_on_grids(space_, grids_under_, fits), space_.stop);
  }
  std::sort(result_.found.begin(), result_.found.end(), comes_first);
  return std::move(result_);
}

}  // namespace pptrain
