#include "planners/judge/fitting_search.hpp"

#include <algorithm>

#include "planners/divide/layer_balance.hpp"
#include "planners/judge/fit_check.hpp"
#include "planners/published/amp/remedy.hpp"
#include "planners/published/amp/uniform_search.hpp"

namespace pptrain {
namespace {

/// Whether the plan, with predictions, needs no more than there is.
bool has_room(const Instance& instance, const Plan& plan) {
  return largest_overrun(instance.cluster, plan.predicted->peak_bytes).empty();
}

/// What the planner of the plan minimises.
double minimised_seconds(const Plan& plan) {
  return plan.planner == auto_planner ? plan.predicted->iteration_seconds
                                      : plan.predicted->estimate_seconds;
}

/// The searches after one whose plan was refused.
class GoingOn {
 public:
  GoingOn(const SearchSpace& space, PlanSimulator& simulator, const Search& search)
      : space_(space), simulator_(simulator), search_(search), check_(space.instance, simulator) {}

  Outcome run(const Outcome& refused) {
    check_.accepts(*refused.plan);
    count(refused);
    search_again(space_.instance);
    // A programme over stages has one plan for each micro-batch size; with less memory it has
    // another one.
    constexpr int least_rounds = 2;
    constexpr int most_rounds = 6;
    constexpr double step = 0.5;
    constexpr double near_enough = 1.01;  // no plan that fits is much better than the refused one
    for (int round = 1; round <= most_rounds && !space_.stop.requested(); ++round) {
      if (round > least_rounds && (result_.plan || !any_refused_)) break;
      if (result_.plan &&
          minimised_seconds(*result_.plan) <= near_enough * minimised_seconds(*refused.plan))
        break;
      const Cluster smaller = with_less_memory(step * round);
      const Instance& whole = space_.instance;
      search_again({whole.profile, smaller, whole.global_batch_size, whole.ties});
    }
    if (result_.plan) return std::move(result_);
    result_.complete = result_.complete && !space_.stop.requested();
    result_.why_not = why_nothing_fits(refused.plan->planner);
    return std::move(result_);
  }

 private:
  void count(const Outcome& outcome) {
    result_.num_examined += outcome.num_examined;
    result_.complete = result_.complete && outcome.complete;
  }

  /// Keeps the plan that the search finds where it is better.
  void search_again(const Instance& instance) {
    const int before = check_.num_refused();
    Outcome outcome =
        search_({instance, space_.restrictions, space_.schedule, space_.stop, &check_});
    any_refused_ = check_.num_refused() > before;
    count(outcome);
    if (outcome.plan) predict_by_simulation(simulator_, *outcome.plan);
    if (outcome.plan && !has_room(space_.instance, *outcome.plan)) outcome.plan.reset();
    const bool better = outcome.plan && (!result_.plan || minimised_seconds(*outcome.plan) <
                                                              minimised_seconds(*result_.plan) *
                                                                  (1.0 - tie_tolerance));
    if (better) result_.plan = std::move(outcome.plan);
    if (better || result_.beside.empty()) result_.beside = std::move(outcome.beside);
    if (result_.grids.empty()) result_.grids = std::move(outcome.grids);
  }

  /// The cluster without a part of what refused plans held beyond the closed form.
  Cluster with_less_memory(double part) const {
    Cluster cluster = space_.instance.cluster;
    for (std::size_t kind = 0; kind < cluster.device_kinds.size(); ++kind) {
      double& memory = cluster.device_kinds[kind].memory;
      memory = std::max(1.0, memory - part * check_.unforeseen_bytes()[kind]);
    }
    return cluster;
  }

  std::string why_nothing_fits(const std::string& planner) {
    const FitsUnder fits = [this](const Restrictions& restrictions) {
      return fits_under(restrictions);
    };
    const std::string text = check_.nearest() + remedy(space_.restrictions, fits, space_.stop);
    return planner == auto_planner ? text + offload_remedy(space_) : text;
  }

  /// Whether some grid fits in the simulator with its smallest micro-batch and the layers divided
  /// by their memory.
  bool fits_under(const Restrictions& restrictions) {
    const SearchSpace changed = {space_.instance, restrictions, space_.schedule, space_.stop};
    GridProblems problems(changed);
    for (const Grid& grid : grids_of(space_.instance.cluster.num_devices(), restrictions)) {
      if (!why_not_in_space(grid, space_.instance, restrictions).empty()) continue;
      const std::int64_t samples = problems.samples_of(grid).front();
      const DivisionProblem problem = problems.problem(grid, samples);
      if (!fits_somehow(problem, space_.stop)) continue;
      const Division division = {roomiest_division(problem, space_.stop), 0.0};
      if (fits_in_simulator(plan_of(changed, {grid, samples, division, 0.0, {}}, ""))) return true;
    }
    return false;
  }

  /// Plans beyond the work that remedies may cost are not simulated: they fit by the closed form.
  bool fits_in_simulator(const Plan& plan) {
    constexpr double most_work = 1e6;
    if (work_ > most_work || !simulator_.can(plan)) return true;
    const bool is_new = !simulator_.is_known(plan);
    const SimulatedPlan& result = simulator_.of(plan);
    if (is_new) work_ += result.work;
    return result.why_not.empty();
  }

  const SearchSpace& space_;
  PlanSimulator& simulator_;
  const Search& search_;
  FitCheck check_;
  Outcome result_;
  bool any_refused_ = false;  // by the last search
  double work_ = 0.0;         // of simulations for remedies
};

}  // namespace

Outcome only_fitting(const SearchSpace& space, PlanSimulator& simulator, const Search& search,
                     Outcome outcome) {
  if (!outcome.plan) return outcome;
  predict_by_simulation(simulator, *outcome.plan);
  if (has_room(space.instance, *outcome.plan)) return outcome;
  return GoingOn(space, simulator, search).run(outcome);
}

}  // namespace pptrain
