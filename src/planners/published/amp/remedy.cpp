#include "planners/published/amp/remedy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/names.hpp"
#include "planners/divide/division_bound.hpp"
#include "planners/divide/layer_balance.hpp"
#include "planners/published/amp/uniform_search.hpp"

namespace pptrain {
namespace {

/// Tries changes of the restrictions one after another.
class Remedies {
 public:
  Remedies(const Restrictions& restrictions, const FitsUnder& fits_under)
      : restrictions_(restrictions), fits_under_(fits_under) {}

  std::string text() {
    if (fits_under_(restrictions_)) return "; a planner that searches more finds a plan that fits";
    try_freeing();
    try_saving(Recompute::full, zero_stage());
    try_saving(restrictions_.recompute.value_or(Recompute::none), least_zero_stage(recompute()));
    if (found_.empty()) try_saving(Recompute::full, least_zero_stage(Recompute::full));
    if (found_.empty())
      return "; no recomputation or ZeRO stage makes it fit: use more or larger devices";
    return "; try " + join(found_, " or ");
  }

 private:
  Recompute recompute() const { return restrictions_.recompute.value_or(Recompute::none); }
  int zero_stage() const { return static_cast<int>(restrictions_.zero_stage.value_or(0)); }

  /// Whether the trainer that plans are for has these, where there is one.
  bool is_run(Recompute recompute, int zero_stage) const {
    if (!restrictions_.rule) return true;
    const TrainerKind& trainer = restrictions_.rule->trainer();
    return trainer.has(recompute) && trainer.has_zero_stage(zero_stage);
  }

  bool fits_with(Recompute recompute, int zero_stage) const {
    if (!is_run(recompute, zero_stage)) return false;
    Restrictions changed = restrictions_;
    changed.recompute = recompute;
    changed.zero_stage = zero_stage;
    return fits_under_(changed);
  }

  /// The first ZeRO stage above the present one that helps, or the present one.
  int least_zero_stage(Recompute recompute) const {
    for (int stage = zero_stage() + 1; stage <= 3; ++stage) {
      if (fits_with(recompute, stage)) return stage;
    }
    return zero_stage();
  }

  void try_saving(Recompute with, int stage) {
    std::vector<std::string> changes;
    if (with != recompute()) changes.push_back(fmt::format("recompute = \"{}\"", to_string(with)));
    if (stage != zero_stage()) changes.push_back(fmt::format("zero_stage = {}", stage));
    if (!changes.empty() && fits_with(with, stage)) found_.push_back(join(changes, " with "));
  }

  /// What the configuration fixes and may leave to the planner: all degrees together, the
  /// micro-batch size.
  void try_freeing() {
    try_freeing({{"data", &Restrictions::data},
                 {"pipeline", &Restrictions::pipeline},
                 {"tensor", &Restrictions::tensor}});
    try_freeing({{"micro_batch_size", &Restrictions::micro_batch_size}});
  }

  void try_freeing(const std::vector<std::pair<const char*, AutoInt Restrictions::*>>& members) {
    Restrictions changed = restrictions_;
    std::vector<std::string> keys;
    for (const auto& [key, member] : members) {
      if (!(restrictions_.*member)) continue;
      keys.emplace_back(key);
      (changed.*member).reset();
    }
    if (!keys.empty() && fits_under_(changed)) found_.push_back(join(keys, " = ") + " = \"auto\"");
  }

  const Restrictions& restrictions_;
  const FitsUnder& fits_under_;
  std::vector<std::string> found_;
};

}  // namespace

std::string remedy(const Restrictions& restrictions, const FitsUnder& fits_under,
                   const Stop& stop) {
  if (stop.requested()) return "";
  const std::string text = Remedies(restrictions, fits_under).text();
  return stop.requested() ? "" : text;
}

FitsUnder fits_on_grids(const SearchSpace& space, const GridsUnder& grids, const Fits& fits) {
  return [&space, grids, fits](const Restrictions& restrictions) {
    const SearchSpace changed = {space.instance, restrictions, space.schedule, space.stop};
    GridProblems problems(changed);
    const std::vector<Grid> allowed = grids(restrictions);
    return std::any_of(allowed.begin(), allowed.end(), [&](const Grid& grid) {
      return !space.stop.requested() &&
             why_not_in_space(grid, space.instance, restrictions).empty() &&
             fits(problems.problem(grid, problems.samples_of(grid).front()));
    });
  };
}

std::string offload_remedy(const SearchSpace& space) {
  const Instance& instance = space.instance;
  const std::shared_ptr<const PlanRule>& rule = space.restrictions.rule;
  const bool is_run = !rule || rule->trainer().offload;
  if (!is_run || space.restrictions.offload.value_or(true) || !instance.cluster.has_host_links())
    return "";
  // Layers are divided as if the state took no room; what the step holds of it is counted then.
  Profile without_state = instance.profile;
  without_state.bytes_per_parameter.optimizer = 0.0;
  const Instance unloaded = {without_state, instance.cluster, instance.global_batch_size,
                             instance.ties};
  Restrictions saving = space.restrictions;
  if (!saving.recompute) saving.recompute = Recompute::full;
  if (!saving.zero_stage) saving.zero_stage = 3;
  const SearchSpace divided = {unloaded, saving, space.schedule, space.stop};
  GridProblems problems(divided);
  for (const Grid& grid : grids_of(instance.cluster.num_devices(), saving)) {
    if (!why_not_in_space(grid, instance, saving).empty()) continue;
    if (space.stop.requested()) break;
    const std::int64_t samples = problems.samples_of(grid).front();
    const Division division = {roomiest_division(problems.problem(grid, samples), space.stop), 0.0};
    Plan plan = plan_of(divided, {grid, samples, division, 0.0, {}}, "auto");
    for (Stage& stage : plan.stages) stage.offload = true;
    if (why_not_fit(instance, plan).empty()) return ", or offload = true";
  }
  return "";
}

bool fits_somehow(const DivisionProblem& problem, const Stop& stop) {
  return reaches_all_layers(problem, {}) && problem.fits(roomiest_division(problem, stop));
}

}  // namespace pptrain
