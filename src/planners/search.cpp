#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "base/error.hpp"
#include "base/names.hpp"
#include "planners/uniform_search.hpp"

namespace pptrain {
namespace {

/// Whether the prediction can differ from AMP's estimate, by which the candidates are ranked.
bool predicts_more_than_amp(const Instance& instance) {
  const auto& groups = instance.cluster.groups;
  const auto& layers = instance.profile.layers;
  return std::any_of(groups.begin(), groups.end(), [](const NodeGroup& g) { return g.shares_cores(); }) ||
         std::any_of(layers.begin(), layers.end(), [](const ProfileLayer& l) { return !l.update_seconds.empty(); });
}

void append(UniformCandidates& all, UniformCandidates more) {
  all.found.insert(all.found.end(), std::make_move_iterator(more.found.begin()),
                   std::make_move_iterator(more.found.end()));
  all.num_examined += more.num_examined;
}

/// The spaces of all planners, ranked by predicted iteration time.
UniformCandidates auto_candidates(const SearchSpace& space, const UniformCandidates& amp,
                                  const UniformCandidates& megatron, const UniformCandidates& data_parallel) {
  UniformCandidates all = amp;
  append(all, megatron);
  append(all, data_parallel);
  std::stable_sort(all.found.begin(), all.found.end(), [](const UniformCandidate& a, const UniformCandidate& b) {
    return std::tie(a.grid, a.samples, a.division.layers) < std::tie(b.grid, b.samples, b.division.layers);
  });
  if (!predicts_more_than_amp(space.instance)) return all;
  for (UniformCandidate& candidate : all.found) {
    candidate.rank_seconds = plan_of(space, candidate, "auto").predicted->iteration_seconds;
  }
  return all;
}

/// The best plan of each grid, fastest first, then the grids without one.
std::vector<GridCandidate> best_of_grids(const SearchSpace& space, const UniformCandidates& candidates,
                                         const std::string& planner) {
  std::map<Grid, std::vector<UniformCandidate>> by_grid;
  for (const UniformCandidate& candidate : candidates.found) by_grid[candidate.grid].push_back(candidate);
  std::vector<UniformCandidate> best;
  for (const auto& [grid, found] : by_grid) best.push_back(*best_candidate(found));
  std::stable_sort(best.begin(), best.end(), [](const UniformCandidate& a, const UniformCandidate& b) {
    return a.rank_seconds < b.rank_seconds;
  });
  std::vector<GridCandidate> grids;
  for (const UniformCandidate& candidate : best) {
    const Grid& grid = candidate.grid;
    grids.push_back({grid.pipeline, grid.data, grid.tensor, plan_of(space, candidate, planner), ""});
  }
  grids.insert(grids.end(), candidates.without.begin(), candidates.without.end());
  return grids;
}

Alternative alternative_of(const SearchSpace& space, const UniformCandidates& candidates, const std::string& planner) {
  const UniformCandidate* best = best_candidate(candidates.found);
  if (best == nullptr) return {planner, std::nullopt, false, candidates.why_not};
  return {planner, plan_of(space, *best, planner).predicted->iteration_seconds, true, ""};
}

void check_planner_name(const std::string& name, const std::string& source) {
  const std::vector<std::string>& known = planner_names();
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  const std::string nearest = nearest_name(name, known);
  throw_bad_input({source, fmt::format("unknown planner \"{}\"", name), "this version has " + join(known),
                   nearest.empty() ? "" : fmt::format("did you mean \"{}\"?", nearest)});
}

/// The chosen planner's candidates and those that are shown beside.
struct Searches {
  std::string planner;
  UniformCandidates chosen;
  std::vector<Alternative> alternatives;
  std::int64_t num_examined = 0;
};

Searches run_searches(const std::string& name, const SearchSpace& space) {
  Searches searches;
  searches.planner = name == "all" ? "auto" : name;
  const UniformCandidates data_parallel = data_parallel_candidates(space);
  const UniformCandidates megatron = megatron_candidates(space);
  searches.alternatives = {alternative_of(space, data_parallel, "data-parallel"),
                           alternative_of(space, megatron, "megatron")};
  searches.num_examined = data_parallel.num_examined + megatron.num_examined;
  if (name == "data-parallel") {
    searches.chosen = data_parallel;
  } else if (name == "megatron") {
    searches.chosen = megatron;
  } else {
    searches.chosen = amp_candidates(space);
    searches.num_examined += searches.chosen.num_examined;
    if (name != "amp") {
      searches.alternatives.push_back(alternative_of(space, searches.chosen, "amp"));
      searches.chosen = auto_candidates(space, searches.chosen, megatron, data_parallel);
    }
  }
  return searches;
}

}  // namespace

const std::vector<std::string>& planner_names() {
  static const std::vector<std::string> names = {"auto", "amp", "megatron", "data-parallel", "all"};
  return names;
}

SearchResult search_plan(const std::string& name, const Instance& instance, const Restrictions& restrictions,
                         const std::string& source) {
  const auto start = std::chrono::steady_clock::now();
  check_planner_name(name, source);
  check_instance(instance, source);
  check_restrictions(instance, restrictions, source);
  const SearchSpace space = {instance, restrictions, restrictions.schedule == "gpipe" ? "gpipe" : "1f1b"};
  Searches searches = run_searches(name, space);
  SearchResult result;
  result.grids = best_of_grids(space, searches.chosen, searches.planner);
  const UniformCandidate* best = best_candidate(searches.chosen.found);
  if (best == nullptr) {
    result.why_not = searches.chosen.why_not;
    return result;
  }
  result.plan = plan_of(space, *best, searches.planner);
  result.plan->alternatives = std::move(searches.alternatives);
  result.plan->search_candidates = searches.num_examined;
  result.plan->search_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace pptrain
