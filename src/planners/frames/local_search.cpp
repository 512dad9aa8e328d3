#include "planners/frames/local_search.hpp"

#include <algorithm>
#include <utility>

#include "base/infinity.hpp"
#include "cost/state_slices.hpp"
#include "planners/frames/neighbours.hpp"

namespace pptrain {
namespace {

constexpr double worth_it = 1.0 - 1e-6;  // of the seconds before a step
constexpr int most_cuts = 8;

std::vector<Plan> shifted_single_layers(const SearchSpace& space, const Plan& plan) {
  return shifted_layers(space, plan, 1);
}

std::vector<Plan> shifted_over_two_cuts(const SearchSpace& space, const Plan& plan) {
  return shifted_layers(space, plan, 2);
}

std::vector<Plan> shifted_over_cuts(const SearchSpace& space, const Plan& plan) {
  return shifted_layers(space, plan, most_cuts);
}

}  // namespace

std::vector<LocalSearch::Steps> LocalSearch::steps_of(Kind kind) {
  constexpr double any = infinity;
  const Steps schedules = {other_schedules, any, true};
  constexpr double near = 1.02;  // an order of its own may take off so much
  if (kind == Kind::cuts) {
    return {{shifted_over_cuts, worth_it, false}, {shifted_pairs, worth_it, false}, {shifted_over_two_cuts, any, false},
            {shifted_over_cuts, near, false},     {shifted_pairs, near, false},     {changed_rounds, any, false}};
  }
  if (kind == Kind::schedules) return {schedules};
  return {{shifted_over_cuts, worth_it, false},
          {shifted_pairs, worth_it, false},
          {other_modes, near, false},  // an order of its own uses the memory that a mode saves
          schedules,
          {shifted_single_layers, any, false},
          {other_micro_batches, any, true},
          {shifted_samples, worth_it, false},
          {exchanged_devices, worth_it, false},
          {fewer_devices, any, true},
          {more_devices, any, true},
          {sent_rows, any, true},
          {shifted_experts, worth_it, false},
          {other_offloads, worth_it, false},
          {shifted_over_cuts, near, false}};
}

/// Goes through the kinds of steps until none of them helped since the last one that did.
void LocalSearch::improve(PlanSimulator& simulator, const KnownPlans& visited, TriedPlan& plan, double work) {
  if (ended_) return;
  simulator_ = &simulator;
  work_left_ += work;
  complete_ = true;
  ended_ = path_.empty() && !begin(visited, plan);
  while (!ended_ && idle_ < steps_.size()) {
    bool any = false;
    while (complete_ && !ended_ && take_one(plan, steps_[kind_])) {
      any = true;
      path_.push_back(plan.plan);
      ended_ = visited.find(plan.plan).has_value();
    }
    if (any) idle_ = 0;
    if (!complete_ || ended_) return;
    ++idle_;
    kind_ = (kind_ + 1) % steps_.size();
  }
  ended_ = true;
}

/// Whether there is anything to improve.
bool LocalSearch::begin(const KnownPlans& visited, TriedPlan& plan) {
  path_ = {plan.plan};
  return has_own_order(plan) && !visited.find(plan.plan);
}

/// Simulates the plan in its own orders where only a sketch of them was; whether it still fits.
bool LocalSearch::has_own_order(TriedPlan& plan) {
  if (!PlanSimulator::searches_orders(plan.plan) || !simulator_->can(plan.plan)) return true;
  const SimulatedPlan& result = simulator_->of(plan.plan);
  pay(result);
  plan.seconds = result.why_not.empty() ? result.iteration_seconds : infinity;
  return result.why_not.empty();
}

/// Takes the first step that helps; where a step leaves no way to the others of its list, the best one. Begins where
/// the last such step was: what helped there may help again, and what did not help before it rarely does now.
bool LocalSearch::take_one(TriedPlan& plan, Steps& steps) {
  Begun list = paused_ ? std::move(*paused_) : Begun{plan.plan, 0, {}};
  paused_.reset();
  const std::vector<Plan> others = steps.of(space_, list.from);
  for (; list.done < others.size() && (!list.taken || steps.best_of_all); ++list.done) {
    const std::size_t i = steps.best_of_all ? list.done : (steps.first + list.done) % others.size();
    if (take(plan, others[i], steps.most_in_order)) list.taken = i;
    if (complete_) continue;
    paused_ = std::move(list);
    return false;
  }
  if (list.taken) steps.first = *list.taken;
  return list.taken.has_value();
}

/// Takes the step if it helps.
bool LocalSearch::take(TriedPlan& plan, const Plan& step, double most_in_order) {
  if (!obeys_rules(space_, step)) return false;
  if (tried_.find(step) || needless(step) || least_seconds(step) >= plan.seconds) return false;
  if (!can_pay(PlanSimulator::setup_cost(step)) || !simulator_->can(step)) return false;
  if (most_in_order < infinity && simulator_->can(plan.plan)) {
    const SimulatedPlan result = simulator_->in_order_of(plan.plan, step);
    pay(result);
    if (result.iteration_seconds >= plan.seconds * most_in_order) return false;
    if (!result.why_not.empty()) return take_with_slices(plan, step, result);
  }
  return can_pay(0.0) && take_in_own_order(plan, step, Slices::by_room);
}

/// Takes the step if it helps in an order of its own. Where it does not fit, slices of the state by room may be tried.
bool LocalSearch::take_in_own_order(TriedPlan& plan, const Plan& step, Slices slices) {
  const SimulatedPlan result = simulator_->against(step, plan.seconds);
  pay(result);
  remember(step, result);
  if (result.iteration_seconds >= plan.seconds * worth_it) return false;
  if (!result.why_not.empty()) return slices == Slices::by_room && take_with_slices(plan, step, result);
  plan = {step, result.iteration_seconds, "", 0.0, {}};
  return true;
}

/// Takes a step that does not fit with slices of the state by the room that the simulator found, if it helps so.
bool LocalSearch::take_with_slices(TriedPlan& plan, const Plan& step, const SimulatedPlan& refused) {
  if (space_.restrictions.shares_evenly()) return false;
  const Plan other = with_slices_by_room(space_.instance, step, refused.peak_bytes);
  if (same_plan(other, step) || tried_.find(other) || !can_pay(PlanSimulator::setup_cost(other))) return false;
  return take_in_own_order(plan, other, Slices::as_they_are);
}

void LocalSearch::remember(const Plan& plan, const SimulatedPlan& result) {
  tried_.add(plan);
  results_.push_back({result.iteration_seconds, result.why_not});
}

/// Whether there is work left, and time.
bool LocalSearch::can_pay(double work) {
  complete_ = complete_ && work <= work_left_ && !space_.stop.requested();
  return complete_;
}

void LocalSearch::pay(const SimulatedPlan& result) {
  work_left_ -= result.work;
  ++num_simulated_;
}

/// The slowest stage's own work: no schedule gets below it.
double LocalSearch::least_seconds(const Plan& plan) const {
  const AmpTerms terms = amp_terms(space_.instance, plan);
  constexpr double rounding = 1.0 - 1e-9;
  return rounding * static_cast<double>(plan.micro_batches) *
         *std::max_element(terms.stage_seconds.begin(), terms.stage_seconds.end());
}

/// Whether the same plan in the order of another schedule fits, beside which this one is no faster, as ZB-H1 beside
/// ZB-H2.
bool LocalSearch::needless(const Plan& plan) const {
  const std::string& roomier = schedule_kind(plan.schedule.name).roomier;
  if (roomier.empty()) return false;
  Plan other = plan;
  other.schedule.name = roomier;
  const std::optional<std::size_t> known = tried_.find(other);
  return known && results_[*known].why_not.empty();
}

std::vector<ScheduleAlternative> LocalSearch::schedules_beside(const Plan& plan) const {
  std::vector<ScheduleAlternative> alternatives;
  for (const Plan& other : other_schedules(space_, plan)) {
    const std::optional<std::size_t> known = tried_.find(other);
    if (!known) continue;
    ScheduleAlternative& alternative = alternatives.emplace_back();
    alternative.schedule = other.schedule;
    alternative.why_not = results_[*known].why_not;
    if (alternative.why_not.empty()) alternative.iteration_seconds = results_[*known].seconds;
  }
  return alternatives;
}

}  // namespace pptrain
