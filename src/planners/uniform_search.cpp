#include "planners/uniform_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace pptrain {
namespace {

Plan bare_plan(const SearchSpace& space, const Grid& grid, const std::vector<Interval>& layers, std::int64_t samples) {
  return uniform_plan(layers, grid.data, grid.tensor, space.instance.global_batch_size, samples * grid.data,
                      space.schedule);
}

/// Adds the best division of every micro-batch size of one grid. Returns how far the grid is from fitting.
double search_grid(const SearchSpace& space, const Grid& grid, UniformCandidates& result) {
  const GridLayout layout = place(space.instance.cluster, grid);
  Overrun nearest = {std::numeric_limits<double>::infinity(), ""};
  const std::size_t before = result.found.size();
  for (const std::int64_t samples : samples_per_replica(grid, space.instance.global_batch_size, space.restrictions)) {
    const DivisionProblem problem(space.instance, layout, samples, space.schedule);
    ++result.num_examined;
    if (std::optional<Division> division = best_division(problem)) {
      const double seconds = division->seconds;
      result.found.push_back({grid, samples, std::move(*division), seconds});
      continue;
    }
    Overrun overrun = overrun_of(space, grid, problem, samples);
    if (overrun.use < nearest.use) nearest = std::move(overrun);
  }
  if (result.found.size() > before) return 0.0;
  result.without.push_back({grid.pipeline, grid.data, grid.tensor, std::nullopt, nearest.text});
  return nearest.use;
}

/// Searches these grids one after another.
UniformCandidates search_grids(const SearchSpace& space, const std::vector<Grid>& grids) {
  UniformCandidates result;
  double nearest = std::numeric_limits<double>::infinity();
  for (const Grid& grid : grids) {
    const std::string why_not = why_not_in_space(grid, space.instance, space.restrictions);
    if (!why_not.empty()) {
      result.without.push_back({grid.pipeline, grid.data, grid.tensor, std::nullopt, why_not});
      if (result.why_not.empty()) result.why_not = fmt::format("{}: {}", to_string(grid), why_not);
      continue;
    }
    const double use = search_grid(space, grid, result);
    if (use > 0.0 && use < nearest) {
      nearest = use;
      result.why_not = fmt::format("{}: {}", to_string(grid), result.without.back().why_not);
    }
  }
  if (!result.found.empty()) result.why_not.clear();
  return result;
}

}  // namespace

Overrun overrun_of(const SearchSpace& space, const Grid& grid, const DivisionProblem& problem, std::int64_t samples) {
  const std::vector<Interval> layers = roomiest_division(problem);
  Overrun overrun;
  for (int i = 0; i < problem.num_stages(); ++i) {
    overrun.use = std::max(overrun.use,
                           problem.memory_use(i, static_cast<int>(layers[i].begin), static_cast<int>(layers[i].end)));
  }
  const Plan plan = bare_plan(space, grid, layers, samples);
  overrun.text = fmt::format("with micro-batches of {} {}", samples * grid.data, why_not_fit(space.instance, plan));
  return overrun;
}

UniformCandidates amp_candidates(const SearchSpace& space) {
  return search_grids(space, grids_of(space.instance.cluster.num_devices(), space.restrictions));
}

UniformCandidates data_parallel_candidates(const SearchSpace& space) {
  const Grid grid = {1, space.instance.cluster.num_devices(), 1};
  const std::vector<Grid> allowed = grids_of(grid.data, space.restrictions);
  if (std::find(allowed.begin(), allowed.end(), grid) != allowed.end()) return search_grids(space, {grid});
  UniformCandidates none;
  none.why_not = "the configuration asks for another grid";
  none.without.push_back({grid.pipeline, grid.data, grid.tensor, std::nullopt, none.why_not});
  return none;
}

const UniformCandidate* best_candidate(const std::vector<UniformCandidate>& candidates) {
  double least = std::numeric_limits<double>::infinity();
  for (const UniformCandidate& candidate : candidates) least = std::min(least, candidate.rank_seconds);
  for (const UniformCandidate& candidate : candidates) {
    if (candidate.rank_seconds <= least * (1.0 + tie_tolerance)) return &candidate;
  }
  return nullptr;
}

Plan plan_of(const SearchSpace& space, const UniformCandidate& candidate, const std::string& planner) {
  return finished_plan(space, bare_plan(space, candidate.grid, candidate.division.layers, candidate.samples), planner);
}

}  // namespace pptrain
