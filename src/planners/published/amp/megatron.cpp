#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

#include "planners/published/amp/grid_trials.hpp"
#include "planners/published/amp/ruled.hpp"

namespace pptrain {
namespace {

int smallest_node(const Cluster& cluster) {
  int smallest = std::numeric_limits<int>::max();
  for (const NodeGroup& group : cluster.groups) smallest = std::min(smallest, group.num_devices);
  return smallest;
}

/// Megatron's order: as few devices per replica as possible, then the smaller tmp.
bool before(const Grid& a, const Grid& b) {
  const auto size = [](const Grid& grid) {
    return static_cast<std::int64_t>(grid.pipeline) * grid.tensor;
  };
  return size(a) != size(b) ? size(a) < size(b) : a.tensor < b.tensor;
}

constexpr DivisionRule megatron_rules[] = {DivisionRule::by_count, DivisionRule::by_parameters};

/// A division of a grid with so many samples per replica.
using Refused = std::set<std::tuple<Grid, std::int64_t, std::vector<Interval>>>;

/// The first grid in Megatron's order that fits with this many samples per replica.
void choose_grid(GridTrials& trials, RuledDivisions& divisions, const std::vector<Grid>& grids,
                 std::int64_t samples, const Refused& refused) {
  for (const Grid& grid : grids) {
    const std::vector<std::int64_t> sizes = trials.samples_of(grid);
    if (std::find(sizes.begin(), sizes.end(), samples) == sizes.end()) continue;
    bool fits = false;
    for (const DivisionRule rule : megatron_rules) {
      const std::vector<Interval>& layers = divisions.of(rule, grid.pipeline);
      if (!refused.contains({grid, samples, layers}) && trials.try_division(grid, samples, layers))
        fits = true;
    }
    if (fits) return;
  }
}

UniformCandidates candidates_without(const SearchSpace& space, const Refused& refused) {
  const Cluster& cluster = space.instance.cluster;
  GridTrials trials(space, [&](const Restrictions& restrictions) {
    std::vector<Grid> grids = grids_of(cluster.num_devices(), restrictions);
    std::erase_if(grids,
                  [most = smallest_node(cluster)](const Grid& grid) { return grid.tensor > most; });
    return grids;
  });
  std::vector<Grid> grids = trials.grids();
  std::sort(grids.begin(), grids.end(), before);
  std::set<std::int64_t> sizes;
  for (const Grid& grid : grids) {
    for (const std::int64_t samples : trials.samples_of(grid)) sizes.insert(samples);
  }
  RuledDivisions divisions(space.instance.profile);
  for (const std::int64_t samples : sizes) {
    if (trials.stopped()) break;
    choose_grid(trials, divisions, grids, samples, refused);
  }
  UniformCandidates result = trials.finish([&](const DivisionProblem& problem) {
    return std::any_of(
        std::begin(megatron_rules), std::end(megatron_rules),
        [&](DivisionRule rule) { return problem.fits(divisions.of(rule, problem.num_stages())); });
  });
  if (result.found.empty() && result.why_not.empty()) {
    result.why_not = "no allowed degree of tensor parallelism is within a node";
  }
  return result;
}

}  // namespace

/// A refused best candidate is followed by the next: another grid is chosen for its micro-batch
/// size.
UniformCandidates megatron_candidates(const SearchSpace& space) {
  Refused refused;
  while (true) {
    UniformCandidates result = candidates_without(space, refused);
    const UniformCandidate* best = best_candidate(result.found);
    if (best == nullptr || !is_refused(space, plan_of(space, *best, "megatron"))) return result;
    refused.insert({best->grid, best->samples, best->division.layers});
  }
}

}  // namespace pptrain
