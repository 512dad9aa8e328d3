#include "planners/auto.hpp"

#include <algorithm>

#include "planners/uniform_planners.hpp"

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

/// The uniform grids of all planners, ranked by predicted iteration time.
UniformCandidates uniform_candidates(const SearchSpace& space) {
  UniformCandidates all = amp_candidates(space);
  append(all, megatron_candidates(space));
  append(all, data_parallel_candidates(space));
  std::stable_sort(all.found.begin(), all.found.end(), [](const UniformCandidate& a, const UniformCandidate& b) {
    return std::tie(a.grid, a.samples, a.division.layers) < std::tie(b.grid, b.samples, b.division.layers);
  });
  if (!predicts_more_than_amp(space.instance)) return all;
  for (UniformCandidate& candidate : all.found) {
    candidate.rank_seconds = plan_of(space, candidate, "auto").predicted->iteration_seconds;
  }
  return all;
}

}  // namespace

Outcome AutoPlanner::search(const SearchSpace& space) const {
  return outcome_of(space, uniform_candidates(space), name());
}

}  // namespace pptrain
