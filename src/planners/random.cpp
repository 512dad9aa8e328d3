
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "planners/draws.hpp"
#include "planners/remedy.hpp"
#include "planners/uniform_search.hpp"

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
  const Instance& instance = space.instance;
  const auto grids_under = [&](const Restrictions& r) { return grids_of(instance.cluster.num_devices(), r); };
  UniformCandidates result;
  std::vector<Grid> grids = grids_under(space.restrictions);
  std::erase_if(grids, [&](const Grid& grid) {
    const std::string why_not = why_not_in_space(grid, instance, space.restrictions);
    if (!why_not.empty()) result.why_not = fmt::format("{}: {}", to_string(grid), why_not);
    return !why_not.empty();
  });
  GridProblems problems(space);
  NearestOverrun nearest;
  Draws draws("random planner");
  for (int draw = 0; draw < num_draws && !grids.empty(); ++draw) {
    if (!result.found.empty() && space.stop.requested()) {
      result.complete = false;
      break;
    }
    const Grid& grid = grids[draws.below(grids.size())];
    const std::vector<std::int64_t> sizes = problems.samples_of(grid);
    const std::int64_t samples = sizes[draws.below(sizes.size())];
    std::vector<Interval> layers = drawn_division(draws, instance.profile.num_layers(), grid.pipeline);
    const DivisionProblem problem = problems.problem(grid, samples);
    ++result.num_examined;
    if (!problem.fits(layers)) {
      nearest.offer(grid, overrun_of(problems, grid, samples, layers));
      continue;
    }
    const double seconds = problem.iteration_seconds(layers);
    result.found.push_back({grid, samples, {std::move(layers), seconds}, seconds, {}});
  }
  if (!result.found.empty()) {
    result.why_not.clear();
  } else if (nearest.any()) {
    result.why_not = nearest.text() + remedy(space.restrictions, fits_on_grids(space, grids_under, fits_somehow));
  }
  std::sort(result.found.begin(), result.found.end(), comes_first);
  return result;
}

}  // namespace pptrain
