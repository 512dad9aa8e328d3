#include "planners/judge/simulated_plan.hpp"

#include <algorithm>

#include "base/infinity.hpp"
#include "cost/bubble.hpp"
#include "cost/transfer_forms.hpp"

namespace pptrain {
namespace {

/// Orders of so many tasks are kept for plans with the same times and memory, some 50 MB.
constexpr std::size_t most_kept_tasks = 4'000'000;

constexpr double work_per_scheduled = 0.03;  // tasks simulated in the time in which orders have one more task

/// What more effort leaves of the time that orders take, at least: beside sketches in nine cases of ten, beside brief
/// searches in the mean (tests/schedule/zero_bubble_test.cpp).
double least_of(OrderEffort effort) {
  if (effort == OrderEffort::sketch) return 0.95;
  return effort == OrderEffort::brief ? 0.995 : 1.0;
}

bool fits(const SimulatedPlan& result) { return result.why_not.empty(); }

bool is_faster(const SimulatedPlan& result, const SimulatedPlan& other) {
  if (fits(result) != fits(other)) return fits(result);
  return result.iteration_seconds < other.iteration_seconds;
}

}  // namespace

PlanSimulator::OrderKey PlanSimulator::key_of(const Plan& plan, OrderEffort effort) {
  const ScheduleChoice& schedule = plan.schedule;
  OrderOptions options = options_of(plan);
  options.effort = effort;
  return {schedule.name, schedule.virtual_stages, schedule.unit, plan.num_stages(), plan.micro_batches, options};
}

const FoundOrders& PlanSimulator::orders_of(const Plan& plan, OrderEffort effort) {
  OrderKey key = key_of(plan, effort);
  const auto found = orders_.find(key);
  if (found != orders_.end()) return found->second;
  FoundOrders orders = find_task_orders(plan, std::get<OrderOptions>(key));
  std::size_t tasks = 0;
  for (const TaskOrder& order : orders.orders) tasks += order.size();
  if (kept_tasks_ + tasks > most_kept_tasks) {
    orders_.clear();
    parent_.reset();
    kept_tasks_ = 0;
  }
  kept_tasks_ += tasks;
  return orders_.emplace(std::move(key), std::move(orders)).first->second;
}

const SimulatedPlan* PlanSimulator::known(const Plan& plan) const {
  const std::optional<std::size_t> number = known_.find(plan);
  return number ? &results_[*number] : nullptr;
}

TrainingSimulation& PlanSimulator::prepared(const Plan& plan) {
  if (!prepared_ || !same_plan(plan, prepared_->plan())) {
    prepared_.emplace(instance_, plan, CompileOptions{instance_.ties, cheapest_forms(instance_, plan)});
    options_.reset();
  }
  return *prepared_;
}

const OrderOptions& PlanSimulator::options_of(const Plan& plan) {
  const TrainingSimulation& simulation = prepared(plan);
  if (!options_) options_ = simulation.order_options();
  return *options_;
}

double PlanSimulator::tasks(const Plan& plan) {
  return static_cast<double>(prepared(plan).tasks_per_micro_batch()) * static_cast<double>(plan.micro_batches);
}

double PlanSimulator::setup_cost(const Plan& plan) { return setup_cost(plan, plan.num_devices()); }

double PlanSimulator::setup_cost(const Plan& plan, int representatives) {
  constexpr double per_chunk = 20.0;  // tasks simulated in the time that prices and class of a chunk on a device take
  constexpr double per_device = 2.0;  // and to find who represents a device
  return per_device * plan.num_devices() + per_chunk * representatives * plan.schedule.virtual_stages;
}

bool PlanSimulator::searches_orders(const Plan& plan) {
  return schedule_kind(plan.schedule.name).search != OrderSearch::none;
}

bool PlanSimulator::can(const Plan& plan) { return is_known(plan) || tasks(plan) <= most_simulated_tasks; }

const SimulatedPlan& PlanSimulator::of(const Plan& plan) {
  if (!is_known(plan)) against(plan, infinity);
  return *known(plan);
}

SimulatedPlan PlanSimulator::against(const Plan& plan, double best) {
  if (const SimulatedPlan* result = known(plan)) return *result;
  bool ended_early = false;
  SimulatedPlan result = in_fastest_orders(plan, best, ended_early);
  if (ended_early) return result;
  known_.add(plan);
  return results_.emplace_back(std::move(result));
}

SimulatedPlan PlanSimulator::in_fastest_orders(const Plan& plan, double best, bool& ended_early) {
  if (!searches_orders(plan)) {
    const FoundOrders& found = orders_of(plan, most_effort_);
    return run(plan, found.orders, found.work);
  }
  SimulatedPlan fastest;
  std::vector<TaskOrder> its_orders;
  double work = 0.0;
  for (const OrderEffort effort : {OrderEffort::sketch, OrderEffort::brief, OrderEffort::full}) {
    if (effort > most_effort_ || ended_early) break;
    const FoundOrders& found = orders_of(plan, effort);
    if (found.orders == its_orders) {
      work += work_per_scheduled * static_cast<double>(found.work);
      continue;
    }
    SimulatedPlan result = run(plan, found.orders, found.work);
    work += result.work;
    if (effort == OrderEffort::sketch || is_faster(result, fastest)) {
      fastest = std::move(result);
      fastest.effort = effort;
      its_orders = found.orders;
    }
    const bool hopeless = !fits(fastest) || least_of(effort) * fastest.iteration_seconds >= best;
    ended_early = best < infinity && hopeless && effort < most_effort_;
  }
  fastest.work = work;
  return fastest;
}

SimulatedPlan PlanSimulator::in_order_of(const Plan& parent, const Plan& plan) {
  return run(plan, orders_of_parent(parent).orders, 0);
}

/// Many plans are simulated in the orders of one parent: it is prepared once.
const FoundOrders& PlanSimulator::orders_of_parent(const Plan& parent) {
  const SimulatedPlan* result = known(parent);
  const OrderEffort effort = result != nullptr ? result->effort : most_effort_;
  if (!parent_ || parent_->effort != effort || !same_plan(parent_->plan, parent)) {
    const FoundOrders& found = orders_of(parent, effort);
    parent_ = {parent, effort, &found};
  }
  return *parent_->found;
}

SimulatedPlan PlanSimulator::run(const Plan& plan, const std::vector<TaskOrder>& orders, std::int64_t order_work) {
  const TrainingSimulation& simulated = prepared(plan);
  const Simulation simulation = simulated.run(orders);
  SimulatedPlan result;
  result.work = tasks(plan) + setup_cost(plan, simulated.num_representatives()) +
                work_per_scheduled * static_cast<double>(order_work);
  result.iteration_seconds = std::max(simulation.makespan_seconds, core_limit_seconds(instance_, plan));
  result.bubble_fraction =
      stretched_bubble(simulation.bubble_fraction(), simulation.makespan_seconds, result.iteration_seconds);
  result.peak_bytes.resize(static_cast<std::size_t>(instance_.cluster.num_devices()), 0.0);
  for (const SimulatedDevice& device : simulation.devices) {
    result.peak_bytes[device.device.index()] = device.peak_bytes;
  }
  result.why_not = largest_overrun(instance_.cluster, result.peak_bytes);
  return result;
}

void predict_by_simulation(PlanSimulator& simulator, Plan& plan) {
  Prediction& predicted = *plan.predicted;
  if (predicted.basis == PredictionBasis::simulation) return;
  if (!simulator.can(plan)) {
    predict_by_larger_form(plan);
    return;
  }
  const SimulatedPlan& result = simulator.of(plan);
  predicted.basis = PredictionBasis::simulation;
  predicted.iteration_seconds = result.iteration_seconds;
  predicted.bubble_fraction = result.bubble_fraction;
  predicted.peak_bytes = result.peak_bytes;
}

void predict_by_larger_form(Plan& plan) {
  Prediction& predicted = *plan.predicted;
  if (predicted.basis == PredictionBasis::simulation) return;
  const double larger = std::max(predicted.iteration_seconds, predicted.estimates.at("dapple"));
  predicted.bubble_fraction = stretched_bubble(predicted.bubble_fraction, predicted.iteration_seconds, larger);
  predicted.iteration_seconds = larger;
}

}  // namespace pptrain
