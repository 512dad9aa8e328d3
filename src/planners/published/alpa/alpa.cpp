#include "planners/published/alpa/alpa.hpp"

#include <algorithm>
#include <set>

#include "base/infinity.hpp"
#include "plan/patterns.hpp"
#include "planners/ask/layer_tables.hpp"
#include "planners/meshes/grid.hpp"
#include "planners/published/alpa/alpa_search.hpp"
#include "planners/published/amp/uniform_search.hpp"
#include "planners/published/published.hpp"

namespace pptrain {
namespace {

/// Devices of the stage from `begin` on, a row per replica.
std::vector<std::vector<DeviceId>> rows_of(int begin, const MeshDivision& division) {
  std::vector<std::vector<DeviceId>> rows(division.replicas);
  for (std::vector<DeviceId>& row : rows) {
    for (int k = 0; k < division.tensor_parallel; ++k) row.emplace_back(begin++);
  }
  return rows;
}

/// The stage has the division of most of its layers; the others are blocks.
Stage stage_of(const SearchSpace& space, const AlpaChoice::ChosenStage& chosen,
               std::int64_t micro_batch) {
  std::map<int, std::int64_t> num_layers;  // by degree
  for (const AlpaChoice::Part& part : chosen.parts)
    num_layers[part.division->tensor_parallel] += part.layers.size();
  const MeshDivision* common = chosen.parts.front().division;
  for (const AlpaChoice::Part& part : chosen.parts) {
    if (num_layers[part.division->tensor_parallel] > num_layers[common->tensor_parallel])
      common = part.division;
  }
  Stage stage;
  stage.layers = {{chosen.parts.front().layers.begin, chosen.parts.back().layers.end}};
  stage.replicas = common->replicas;
  stage.tensor_parallel = common->tensor_parallel;
  stage.devices = rows_of(chosen.begin, *common);
  stage.samples = even_division(micro_batch, common->replicas);
  stage.recompute = space.restrictions.recompute.value_or(Recompute::none);
  stage.zero_stage = static_cast<int>(space.restrictions.zero_stage.value_or(0));
  for (const AlpaChoice::Part& part : chosen.parts) {
    const MeshDivision& division = *part.division;
    if (division.tensor_parallel == common->tensor_parallel) continue;
    stage.blocks.push_back({part.layers,
                            division.replicas,
                            division.tensor_parallel,
                            written_pattern(TensorPattern::megatron, division.tensor_parallel),
                            even_division(micro_batch, division.replicas),
                            {}});
  }
  return stage;
}

Plan plan_of(const SearchSpace& space, const AlpaChoice& choice, std::int64_t micro_batch) {
  Plan plan;
  plan.global_batch_size = space.instance.global_batch_size;
  plan.micro_batch_size = micro_batch;
  plan.micro_batches = plan.global_batch_size / micro_batch;
  plan.schedule.name = space.schedule;
  for (const AlpaChoice::ChosenStage& stage : choice.stages)
    plan.stages.push_back(stage_of(space, stage, micro_batch));
  return plan;
}

/// The searches of all micro-batch sizes. A search holds tables over layers x layers x mesh
/// classes, which large clusters make again when they are needed.
class Sizes {
 public:
  Sizes(const SearchSpace& space, const std::vector<std::int64_t>& micro_batches)
      : space_(space), sums_(space.instance), meshes_(space) {
    const double layers = sums_.num_layers();
    keep_ = layers * layers * static_cast<double>(meshes_.classes().size()) < most_table_entries;
    for (const std::int64_t micro_batch : micro_batches) {
      if (space.stop.requested()) break;
      sizes_.push_back({micro_batch, 0.0, nullptr});
      sizes_.back().least_seconds = search_of(sizes_.back()).least_seconds();
      if (!keep_) sizes_.back().search.reset();
    }
    std::stable_sort(sizes_.begin(), sizes_.end(), [](const Size& a, const Size& b) {
      return a.least_seconds < b.least_seconds;
    });
  }

  /// No plan of the space takes less.
  double least_seconds() const { return sizes_.empty() ? infinity : sizes_.front().least_seconds; }

  /// Makes `best` a plan faster than `limit`, if there is one; the fastest with no slack.
  void search(double limit, double slack, Outcome& outcome) {
    for (Size& size : sizes_) {
      if (size.least_seconds >= limit || !outcome.complete) break;
      AlpaSearch& search = search_of(size);
      if (const std::optional<AlpaChoice> choice = search.search(limit, slack)) {
        Plan plan = plan_of(space_, *choice, size.micro_batch);
        if (!is_refused(space_, plan)) {
          best_seconds = choice->seconds;
          limit = best_seconds * (1.0 - tie_tolerance);
          best = std::move(plan);
        }
      }
      outcome.num_examined += search.num_examined();
      outcome.complete = !search.stopped();
      if (!keep_) size.search.reset();
    }
  }

  std::optional<Plan> best;
  double best_seconds = infinity;

 private:
  static constexpr double most_table_entries = 2e6;  // of one micro-batch size; each has two tables
                                                     // of doubles

  struct Size {
    std::int64_t micro_batch = 0;
    double least_seconds = 0.0;
    std::unique_ptr<AlpaSearch> search;
  };

  AlpaSearch& search_of(Size& size) {
    if (!size.search)
      size.search = std::make_unique<AlpaSearch>(space_, sums_, meshes_, size.micro_batch);
    return *size.search;
  }

  const SearchSpace& space_;
  LayerSums sums_;
  SubMeshes meshes_;
  bool keep_ = true;
  std::vector<Size> sizes_;
};

/// Searches close to the lower bound first, and ever farther from it until there is a plan: the
/// closer, the less of the space is left.
void widen(Sizes& sizes, double slack, Outcome& outcome) {
  constexpr double first_gap = 0.01;
  constexpr double last_gap = 100.0;
  const double known = sizes.best_seconds * (1.0 - tie_tolerance);
  for (double gap = first_gap; outcome.complete; gap *= 2.0) {
    const bool last = gap > last_gap || sizes.least_seconds() == 0.0;
    const double limit = last ? infinity : sizes.least_seconds() * (1.0 + gap);
    sizes.search(std::min(limit, known), slack, outcome);
    if (limit >= known || sizes.best_seconds < known) break;
  }
}

/// First some plan, then the best.
std::optional<Plan> search_sizes(const SearchSpace& space,
                                 const std::vector<std::int64_t>& micro_batches, Outcome& outcome) {
  constexpr double coarse_slack = 0.02;  // leaves so little that a hundred layers on thousands of
                                         // devices take seconds
  Sizes sizes(space, micro_batches);
  if (sizes.least_seconds() == infinity) return std::nullopt;
  widen(sizes, coarse_slack * sizes.least_seconds(), outcome);
  widen(sizes, 0.0, outcome);
  return sizes.best;
}

std::vector<std::int64_t> micro_batches_of(const SearchSpace& space) {
  if (space.restrictions.micro_batch_size) return {*space.restrictions.micro_batch_size};
  return divisors(space.instance.global_batch_size);
}

/// Without blocks: one degree for all stages.
std::optional<Plan> search_degrees(const SearchSpace& space, Outcome& outcome) {
  std::optional<Plan> best;
  for (const std::int64_t degree : divisors(space.instance.cluster.num_devices())) {
    if (space.restrictions.tensor && *space.restrictions.tensor != degree) continue;
    Restrictions fixed = space.restrictions;
    fixed.tensor = degree;
    const std::optional<Plan> plan =
        search_sizes({space.instance, fixed, space.schedule, space.stop, space.check},
                     micro_batches_of(space), outcome);
    if (!plan) continue;
    const double seconds = amp_terms(space.instance, *plan).iteration_seconds;
    if (!best ||
        seconds < amp_terms(space.instance, *best).iteration_seconds * (1.0 - tie_tolerance))
      best = plan;
  }
  return best;
}

/// The nearest uniform grid tells best what is missing.
std::string why_not(const SearchSpace& space, const Outcome& outcome) {
  if (!outcome.complete) return "stopped before a plan was found";
  const std::string nearest = amp_candidates(space).why_not;
  return nearest.empty() ? "no stages on whole nodes or 2^k devices of one fit" : nearest;
}

}  // namespace

Outcome AlpaPlanner::search(const SearchSpace& space) const {
  Outcome outcome;
  outcome.why_not = why_not_tabulated(space.instance);
  if (!outcome.why_not.empty()) return outcome;
  std::optional<Plan> best = space.restrictions.blocks
                                 ? search_sizes(space, micro_batches_of(space), outcome)
                                 : search_degrees(space, outcome);
  if (best) {
    outcome.plan = finished_plan(space, std::move(*best), name());
  } else {
    outcome.why_not = why_not(space, outcome);
  }
  return outcome;
}

std::unique_ptr<Planner> make_alpa_planner() { return std::make_unique<AlpaPlanner>(); }

}  // namespace pptrain
