#include "planners/judge/simulated_plan.hpp"

#include <algorithm>

#include "cost/bubble.hpp"
#include "cost/transfer_forms.hpp"

namespace pptrain {
namespace {

/// Orders of so many tasks are kept for plans with the same times and memory, some 50 MB.
constexpr std::size_t most_kept_tasks = 4'000'000;

}  // namespace

PlanSimulator::OrderKey PlanSimulator::key_of(const Plan& plan, OrderEffort effort) {
  const ScheduleChoice& schedule = plan.schedule;
  OrderOptions options = prepared(plan).order_options();
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
  }
  return *prepared_;
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

bool PlanSimulator::has_sketch(const Plan& plan) {
  return schedule_kind(plan.schedule.name).search != OrderSearch::none;
}

SimulatedPlan PlanSimulator::sketched(const Plan& plan) { return run(plan, orders_of(plan, OrderEffort::sketch)); }

bool PlanSimulator::can(const Plan& plan) { return is_known(plan) || tasks(plan) <= most_simulated_tasks; }

const SimulatedPlan& PlanSimulator::of(const Plan& plan) {
  if (const SimulatedPlan* result = known(plan)) return *result;
  SimulatedPlan result = run(plan, orders_of(plan, effort_));
  known_.add(plan);
  return results_.emplace_back(std::move(result));
}

SimulatedPlan PlanSimulator::in_order_of(const Plan& parent, const Plan& plan) {
  return run(plan, {orders_of(parent, effort_).orders, 0});
}

SimulatedPlan PlanSimulator::run(const Plan& plan, const FoundOrders& orders) {
  constexpr double per_scheduled = 0.03;  // tasks simulated in the time in which an order has one more task
  const TrainingSimulation& simulated = prepared(plan);
  const Simulation simulation = simulated.run(orders.orders);
  SimulatedPlan result;
  result.work = tasks(plan) + setup_cost(plan, simulated.num_representatives()) +
                per_scheduled * static_cast<double>(orders.work);
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
