#include "planners/ruled.hpp"

#include <fmt/format.h>

#include "planners/balance.hpp"
#include "planners/remedy.hpp"

namespace pptrain {

RuledDivisions::RuledDivisions(const Profile& profile) {
  for (const ProfileLayer& layer : profile.layers) parameters_.push_back(layer.parameters);
}

const std::vector<Interval>& RuledDivisions::of(DivisionRule rule, int stages) {
  const auto [place, is_new] = known_.try_emplace({rule, stages});
  if (!is_new) return place->second;
  const auto layers = static_cast<std::int64_t>(parameters_.size());
  place->second =
      rule == DivisionRule::by_count ? even_division(layers, stages) : balanced_division(parameters_, stages);
  return place->second;
}

UniformCandidates ruled_candidates(const SearchSpace& space, DivisionRule rule) {
  const Instance& instance = space.instance;
  const auto grids_under = [&](const Restrictions& r) { return grids_of(instance.cluster.num_devices(), r); };
  RuledDivisions divisions(instance.profile);
  GridProblems problems(space);
  UniformCandidates result;
  NearestOverrun nearest;
  for (const Grid& grid : grids_under(space.restrictions)) {
    const std::string why_not = why_not_in_space(grid, instance, space.restrictions);
    if (!why_not.empty()) {
      if (result.why_not.empty()) result.why_not = fmt::format("{}: {}", to_string(grid), why_not);
      continue;
    }
    if (!result.found.empty() && space.stop.requested()) {
      result.complete = false;
      break;
    }
    const std::vector<Interval>& layers = divisions.of(rule, grid.pipeline);
    for (const std::int64_t samples : problems.samples_of(grid)) {
      ++result.num_examined;
      const DivisionProblem problem = problems.problem(grid, samples);
      if (!problem.fits(layers)) {  // nor does it with more samples
        nearest.offer(grid, overrun_of(problems, grid, samples, layers));
        break;
      }
      const double seconds = problem.iteration_seconds(layers);
      result.found.push_back({grid, samples, {layers, seconds}, seconds, {}});
    }
  }
  if (!result.found.empty()) {
    result.why_not.clear();
  } else if (nearest.any()) {
    const Fits fits = [&](const DivisionProblem& p) { return p.fits(divisions.of(rule, p.num_stages())); };
    result.why_not = nearest.text() + remedy(space.restrictions, fits_on_grids(space, grids_under, fits));
  }
  return result;
}

}  // namespace pptrain
