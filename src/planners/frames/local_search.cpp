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

/// The plans from number `first` on, and then those before it.
std::vector<Plan> in_turn(std::vector<Plan> plans, std::size_t first) {
  if (first < plans.size())
    std::rotate(plans.begin(), plans.begin() + static_cast<std::ptrdiff_t>(first), plans.end());
  return plans;
}

}  // namespace

std::vector<LocalSearch::Steps> LocalSearch::steps_of(Kind kind) {
  constexpr double any = infinity;
  const Steps schedules = {other_schedules, any, true};
  constexpr double near = 1.02;  // an order of its own may take off so much
  if (kind == Kind::cuts) {
    return {{shifted_over_cuts, worth_it, false}, {shifted_pairs, worth_it, false},
            {shifted_over_two_cuts, any, false},  {shifted_over_cuts, near, false},
            {shifted_pairs, near, false},         {changed_rounds, any, false}};
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
void LocalSearch::improve(PlanSimulator& simulator, const KnownPlans& visited, TriedPlan& plan,
                          double work, StepsAhead* ahead) {
  if (ended_) return;
  simulator_ = &simulator;
  ahead_ = ahead;
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

/// Takes the first step that helps; where a step leaves no way to the others of its list, the best
/// one. Begins where the last such step was: what helped there may help again, and what did not
/// help before it rarely does now.
bool LocalSearch::take_one(TriedPlan& plan, Steps& steps) {
  Begun list = paused_ ? std::move(*paused_) : Begun{plan.plan, 0, {}};
  paused_.reset();
  const std::vector<Plan> others =
      in_turn(steps.of(space_, list.from), steps.best_of_all ? 0 : steps.first);
  orders_.reset();
  for (; list.done < others.size() && (!list.taken || steps.best_of_all); ++list.done) {
    offer_ahead(plan, steps, others, list.done);
    const std::shared_ptr<StepsAhead::Task> offered = offered_at(list.done);
    if (take(plan, others[list.done], steps.most_in_order, offered)) {
      list.taken = list.done;
      withdraw_offers();  // they were to be better than the plan before
      orders_.reset();
    }
    if (offered) ahead_->withdraw(offered);
    if (!complete_) break;
  }
  withdraw_offers();
  if (!complete_) {
    paused_ = std::move(list);
    return false;
  }
  if (list.taken) steps.first = (steps.first + *list.taken) % others.size();
  return list.taken.has_value();
}

/// Offers the next steps of the list to threads that serve, if there are any.
void LocalSearch::offer_ahead(const TriedPlan& plan, const Steps& steps,
                              const std::vector<Plan>& others, std::size_t place) {
  constexpr std::size_t most_offered = StepsAhead::most_offered;
  if (ahead_ == nullptr || offered_.size() >= most_offered / 2 || !ahead_->is_served()) return;
  for (std::size_t next = offered_.empty() ? place : offered_.back().place + 1;
       next < others.size() && offered_.size() < most_offered; ++next) {
    const Plan& step = others[next];
    if (may_help(plan, step))
      offered_.push_back({next, ahead_->offer(step_of(plan, step, steps.most_in_order))});
  }
}

/// The step at this place of the list, where it was offered.
std::shared_ptr<StepsAhead::Task> LocalSearch::offered_at(std::size_t place) {
  if (offered_.empty() || offered_.front().place != place) return nullptr;
  std::shared_ptr<StepsAhead::Task> task = std::move(offered_.front().task);
  offered_.pop_front();
  return task;
}

void LocalSearch::withdraw_offers() {
  for (const Offered& offered : offered_) ahead_->withdraw(offered.task);
  offered_.clear();
}

/// Whether nothing that is known of the step says that it does not help.
bool LocalSearch::may_help(const TriedPlan& plan, const Plan& step) const {
  if (!obeys_rules(space_, step)) return false;
  return !tried_.find(step) && !needless(step) && least_seconds(step) < plan.seconds;
}

Step LocalSearch::step_of(const TriedPlan& plan, const Plan& step, double most_in_order) {
  if (most_in_order == infinity || !simulator_->can(plan.plan))
    return {step, nullptr, infinity, plan.seconds};
  if (!orders_)
    orders_ = std::make_shared<const std::vector<TaskOrder>>(simulator_->fastest_orders(plan.plan));
  return {step, orders_, plan.seconds * most_in_order, plan.seconds};
}

/// Takes the step if it helps.
bool LocalSearch::take(TriedPlan& plan, const Plan& step, double most_in_order,
                       const std::shared_ptr<StepsAhead::Task>& offered) {
  if (!may_help(plan, step) || !can_pay(PlanSimulator::setup_cost(step))) return false;
  const TriedStep tried = offered ? ahead_->result_of(offered, *simulator_)
                                  : try_step(*simulator_, step_of(plan, step, most_in_order));
  if (!tried.can) return false;
  if (tried.in_order) {
    pay(*tried.in_order);
    if (tried.in_order->iteration_seconds >= plan.seconds * most_in_order) return false;
    if (!tried.in_order->why_not.empty()) return take_with_slices(plan, step, *tried.in_order);
  }
  return can_pay(0.0) && take_in_own_order(plan, step, *tried.own, Slices::by_room);
}

/// Takes the step if it helps in an order of its own. Where it does not fit, slices of the state by
/// room may be tried.
bool LocalSearch::take_in_own_order(TriedPlan& plan, const Plan& step, const SimulatedPlan& result,
                                    Slices slices) {
  pay(result);
  remember(step, result);
  if (result.iteration_seconds >= plan.seconds * worth_it) return false;
  if (!result.why_not.empty())
    return slices == Slices::by_room && take_with_slices(plan, step, result);
  plan = {step, result.iteration_seconds, "", 0.0, {}};
  return true;
}

/// Takes a step that does not fit with slices of the state by the room that the simulator found, if
/// it helps so.
bool LocalSearch::take_with_slices(TriedPlan& plan, const Plan& step,
                                   const SimulatedPlan& refused) {
  if (space_.restrictions.shares_evenly()) return false;
  const Plan other = with_slices_by_room(space_.instance, step, refused.peak_bytes);
  if (same_plan(other, step) || tried_.find(other) || !can_pay(PlanSimulator::setup_cost(other)))
    return false;
  return take_in_own_order(plan, other, simulator_->against(other, plan.seconds),
                           Slices::as_they_are);
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

/// Whether the same plan in the order of another schedule fits, beside which this one is no faster,
/// as ZB-H1 beside ZB-H2.
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
