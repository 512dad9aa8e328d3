#include "planners/published/amp/uniform_planners.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "base/units.hpp"
#include "planners/published/published.hpp"

namespace pptrain {
namespace {

/// The best of each grid, fastest first, then the grids without one. Those that are shown are
/// plans.
std::vector<GridCandidate> best_of_grids(const SearchSpace& space,
                                         const UniformCandidates& candidates,
                                         const std::string& planner) {
  std::map<Grid, std::vector<UniformCandidate>> by_grid;
  for (const UniformCandidate& candidate : candidates.found)
    by_grid[candidate.grid].push_back(candidate);
  std::vector<UniformCandidate> best;
  for (const auto& [grid, found] : by_grid) best.push_back(*best_candidate(found));
  std::stable_sort(best.begin(), best.end(),
                   [](const UniformCandidate& a, const UniformCandidate& b) {
                     return a.rank_seconds < b.rank_seconds;
                   });
  std::vector<GridCandidate> grids;
  for (const UniformCandidate& candidate : best) {
    GridCandidate row = {candidate.grid.pipeline, candidate.grid.data, candidate.grid.tensor,
                         std::nullopt, ""};
    if (grids.size() < num_shown_grids) {
      row.plan = plan_of(space, candidate, planner);
    } else {
      row.why_not = format_seconds(candidate.rank_seconds);
    }
    grids.push_back(std::move(row));
  }
  std::copy_if(candidates.without.begin(), candidates.without.end(), std::back_inserter(grids),
               [&](const GridCandidate& g) {
                 return !by_grid.contains({g.pipeline, g.data, g.tensor});
               });
  return grids;
}

}  // namespace

Outcome outcome_of(const SearchSpace& space, UniformCandidates candidates,
                   const std::string& planner) {
  drop_refused(space, candidates.found);
  Outcome outcome;
  outcome.why_not = candidates.why_not;
  outcome.num_examined = candidates.num_examined;
  outcome.complete = candidates.complete;
  outcome.grids = best_of_grids(space, candidates, planner);
  if (outcome.why_not.empty() && candidates.found.empty())
    outcome.why_not = "no uniform grid is left";
  if (const UniformCandidate* best = best_candidate(candidates.found))
    outcome.plan = plan_of(space, *best, planner);
  return outcome;
}

Outcome AmpPlanner::search(const SearchSpace& space) const {
  return outcome_of(space, amp_candidates(space), name());
}

Outcome MegatronPlanner::search(const SearchSpace& space) const {
  return outcome_of(space, megatron_candidates(space), name());
}

Outcome DataParallelPlanner::search(const SearchSpace& space) const {
  return outcome_of(space, data_parallel_candidates(space), name());
}

Outcome UniformLayersPlanner::search(const SearchSpace& space) const {
  return outcome_of(space, ruled_candidates(space, DivisionRule::by_count), name());
}

Outcome UniformParametersPlanner::search(const SearchSpace& space) const {
  return outcome_of(space, ruled_candidates(space, DivisionRule::by_parameters), name());
}

Outcome RandomPlanner::search(const SearchSpace& space) const {
  return outcome_of(space, random_candidates(space), name());
}

Outcome AnnealingPlanner::search(const SearchSpace& space) const {
  return outcome_of(space, annealed_candidates(space), name());
}

std::unique_ptr<Planner> make_amp_planner() { return std::make_unique<AmpPlanner>(); }
std::unique_ptr<Planner> make_annealing_planner() { return std::make_unique<AnnealingPlanner>(); }
std::unique_ptr<Planner> make_megatron_planner() { return std::make_unique<MegatronPlanner>(); }
std::unique_ptr<Planner> make_data_parallel_planner() {
  return std::make_unique<DataParallelPlanner>();
}
std::unique_ptr<Planner> make_uniform_layers_planner() {
  return std::make_unique<UniformLayersPlanner>();
}
std::unique_ptr<Planner> make_uniform_parameters_planner() {
  return std::make_unique<UniformParametersPlanner>();
}
std::unique_ptr<Planner> make_random_planner() { return std::make_unique<RandomPlanner>(); }

}  // namespace pptrain
