#include "planners/published/amp/ruled.hpp"

#include "planners/divide/layer_balance.hpp"
#include "planners/published/amp/grid_trials.hpp"

namespace pptrain {

RuledDivisions::RuledDivisions(const Profile& profile) {
  for (const ProfileLayer& layer : profile.layers) parameters_.push_back(layer.parameters);
}

const std::vector<Interval>& RuledDivisions::of(DivisionRule rule, int stages) {
  const auto [place, is_new] = known_.try_emplace({rule, stages});
  if (!is_new) return place->second;
  const auto layers = static_cast<std::int64_t>(parameters_.size());
  place->second = rule == DivisionRule::by_count ? even_division(layers, stages)
                                                 : balanced_division(parameters_, stages);
  return place->second;
}

UniformCandidates ruled_candidates(const SearchSpace& space, DivisionRule rule) {
  const int devices = space.instance.cluster.num_devices();
  RuledDivisions divisions(space.instance.profile);
  GridTrials trials(space, [devices](const Restrictions& r) { return grids_of(devices, r); });
  for (const Grid& grid : trials.grids()) {
    if (trials.stopped()) break;
    for (const std::int64_t samples : trials.samples_of(grid)) {
      if (!trials.try_division(grid, samples, divisions.of(rule, grid.pipeline)))
        break;  // nor with more samples
    }
  }
  return trials.finish(
      [&](const DivisionProblem& p) { return p.fits(divisions.of(rule, p.num_stages())); });
}

}  // namespace pptrain
