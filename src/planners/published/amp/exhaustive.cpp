#include "planners/published/amp/exhaustive.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "planners/divide/assignments.hpp"
#include "planners/meshes/grid.hpp"
#include "planners/published/amp/uniform_planners.hpp"
#include "planners/published/published.hpp"

namespace pptrain {
namespace {

double binomial(int n, int k) {
  return std::round(std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1)));
}

/// Sequences of the cluster's devices in which those of one node are equal.
double device_sequences(const Cluster& cluster) {
  double logarithm = std::lgamma(cluster.num_devices() + 1);
  for (const NodeGroup& group : cluster.groups)
    logarithm -= group.count * std::lgamma(group.num_devices + 1);
  return std::round(std::exp(logarithm));
}

/// meshes[s][d]: ways to cut a sequence of d devices into s stages and each into replicas x degree.
std::vector<std::vector<double>> mesh_sequences(int num_devices, int most_stages) {
  std::vector<std::vector<double>> meshes(most_stages + 1,
                                          std::vector<double>(num_devices + 1, 0.0));
  meshes[0][0] = 1.0;
  for (int s = 1; s <= most_stages; ++s) {
    for (int d = 1; d <= num_devices; ++d) {
      for (int last = 1; last <= d; ++last) {
        meshes[s][d] += meshes[s - 1][d - last] * static_cast<double>(divisors(last).size());
      }
    }
  }
  return meshes;
}

}  // namespace

double count_exhaustive_plans(const SearchSpace& space) {
  const int layers = space.instance.profile.num_layers();
  const int devices = space.instance.cluster.num_devices();
  if (devices > 64) return std::numeric_limits<double>::infinity();
  const int most_stages = std::min(layers, devices);
  const auto meshes = mesh_sequences(devices, most_stages);
  double plans = 0.0;
  for (int s = 1; s <= most_stages; ++s) plans += binomial(layers - 1, s - 1) * meshes[s][devices];
  return plans * device_sequences(space.instance.cluster) *
         static_cast<double>(
             micro_batch_sizes(space.instance.global_batch_size, space.restrictions).size());
}

Outcome search_exhaustively(const SearchSpace& space, double limit) {
  Outcome outcome;
  LayerSums sums(space.instance);
  AllAssignments states(space);
  StageSearch search(space, sums, states, Merging::exact, Shares::even);
  std::optional<Plan> best;
  for (const std::int64_t micro_batch :
       micro_batch_sizes(space.instance.global_batch_size, space.restrictions)) {
    if (const auto chain = search.search(micro_batch, limit)) {
      Plan plan = search.plan_of(*chain);
      if (!is_refused(space, plan)) {
        limit = chain->seconds * (1.0 - tie_tolerance);
        best = std::move(plan);
      }
    }
    if (search.stopped()) outcome.complete = false;
  }
  outcome.num_examined = search.num_examined();
  if (best) outcome.plan = finished_plan(space, std::move(*best), "exhaustive");
  return outcome;
}

Outcome ExhaustivePlanner::search(const SearchSpace& space) const {
  const double plans = count_exhaustive_plans(space);
  if (plans > most_exhaustive_plans) {
    throw_bad_input({"planner exhaustive",
                     fmt::format("{:.3g} plans are too many to look at each", plans),
                     fmt::format("at most {:.3g} are", most_exhaustive_plans),
                     "use planner auto, or a smaller cluster or model"});
  }
  // Grids are part of the space; the best of them leaves less to look at, and wins ties.
  Outcome outcome = AmpPlanner().search(space);
  outcome.grids.clear();
  const double limit = outcome.plan
                           ? outcome.plan->predicted->estimates.at("amp") * (1.0 - tie_tolerance)
                           : std::numeric_limits<double>::infinity();
  Outcome all = search_exhaustively(space, limit);
  all.num_examined += outcome.num_examined;
  all.complete = all.complete && outcome.complete;
  if (!all.plan && outcome.plan) all.plan = finished_plan(space, std::move(*outcome.plan), name());
  if (!all.plan) all.why_not = outcome.why_not;
  return all;
}

std::unique_ptr<Planner> make_exhaustive_planner() { return std::make_unique<ExhaustivePlanner>(); }

}  // namespace pptrain
