
#include <algorithm>
#include <numeric>

#include "planners/meshes/draws.hpp"
#include "planners/published/amp/grid_trials.hpp"

namespace pptrain {
namespace {

/// A contiguous division, each as likely: the inner boundaries are drawn without replacement.
std::vector<Interval> drawn_division(Draws& draws, int layers, int stages) {
  std::vector<int> boundaries(static_cast<std::size_t>(layers) - 1);
  std::iota(boundaries.begin(), boundaries.end(), 1);
  for (int i = 0; i + 1 < stages; ++i) {
    std::swap(boundaries[i], boundaries[i + draws.below(boundaries.size() - i)]);
  }
  boundaries.resize(static_cast<std::size_t>(stages) - 1);
  boundaries.push_back(layers);
  std::sort(boundaries.begin(), boundaries.end());
  std::vector<Interval> division;
  for (int begin = 0; const int end : boundaries) {
    division.push_back({begin, end});
    begin = end;
  }
  return division;
}

}  // namespace

UniformCandidates random_candidates(const SearchSpace& space) {
  constexpr int num_draws = 200;
  const int devices = space.instance.cluster.num_devices();
  const int layers = space.instance.profile.num_layers();
  GridTrials trials(space, [devices](const Restrictions& r) { return grids_of(devices, r); });
  const std::vector<Grid>& grids = trials.grids();
  Draws draws("random planner");
  for (int draw = 0; draw < num_draws && !grids.empty() && !trials.stopped(); ++draw) {
    const Grid& grid = grids[draws.below(grids.size())];
    const std::vector<std::int64_t> sizes = trials.samples_of(grid);
    const std::int64_t samples = sizes[draws.below(sizes.size())];
    trials.try_division(grid, samples, drawn_division(draws, layers, grid.pipeline));
  }
  return trials.finish(
      [&space](const DivisionProblem& problem) { return fits_somehow(problem, space.stop); });
}

}  // namespace pptrain
