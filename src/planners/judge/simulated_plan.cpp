#include "planners/judge/simulated_plan.hpp"

#include <algorithm>

#include "cost/bubble.hpp"
#include "cost/transfer_forms.hpp"

namespace pptrain {
namespace {

/// Tasks simulated in the time that the search for an order takes: zero-bubble orders that memory or few micro-batches
/// keep from having no bubble are improved step by step, others are made at once or nearly so (docs/schedules.md).
double order_cost(const Plan& plan) {
  const OrderSearch search = schedule_kind(plan.schedule.name).search;
  const double tasks = 3.0 * plan.num_stages() * plan.schedule.virtual_stages * static_cast<double>(plan.micro_batches);
  const bool filled = search == OrderSearch::improved_if_short && plan.micro_batches >= 2 * plan.num_stages();
  if (search == OrderSearch::compared) return std::min(30.0 * tasks, 3e4);
  if (search == OrderSearch::none) return 0.1 * tasks;
  return filled ? tasks : std::min(250.0 * tasks, 4e4);
}

/// Orders of so many tasks are kept for plans with the same times and memory, some 50 MB.
constexpr std::size_t most_kept_tasks = 4'000'000;

}  // namespace

PlanSimulator::OrderKey PlanSimulator::key_of(const Plan& plan) {
  const ScheduleChoice& schedule = plan.schedule;
  return {schedule.name,     schedule.virtual_stages, schedule.unit,
          plan.num_stages(), plan.micro_batches,      prepared(plan).order_options()};
}

const std::vector<TaskOrder>& PlanSimulator::orders_of(const Plan& plan) {
  OrderKey key = key_of(plan);
  const auto found = orders_.find(key);
  if (found != orders_.end()) return found->second;
  std::vector<TaskOrder> orders = task_orders(plan, std::get<OrderOptions>(key));
  std::size_t tasks = 0;
  for (const TaskOrder& order : orders) tasks += order.size();
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

double PlanSimulator::setup_cost(const Plan& plan) {
  constexpr double per_chunk = 20.0;  // tasks simulated in the time that prices and class of a chunk on a device take
  const double devices = static_cast<double>(plan.num_devices()) * plan.schedule.virtual_stages;
  return per_chunk * devices + order_cost(plan);
}

double PlanSimulator::cost(const Plan& plan) { return is_known(plan) ? 0.0 : cost_anew(plan); }

bool PlanSimulator::can(const Plan& plan) { return is_known(plan) || tasks(plan) <= most_simulated_tasks; }

const SimulatedPlan& PlanSimulator::of(const Plan& plan) {
  if (const SimulatedPlan* result = known(plan)) return *result;
  SimulatedPlan result = run(plan, orders_of(plan));
  known_.add(plan);
  return results_.emplace_back(std::move(result));
}

SimulatedPlan PlanSimulator::in_order_of(const Plan& parent, const Plan& plan) {
  const std::vector<TaskOrder> orders = orders_of(parent);
  return run(plan, orders);
}

SimulatedPlan PlanSimulator::run(const Plan& plan, const std::vector<TaskOrder>& orders) {
  const Simulation simulation = prepared(plan).run(orders);
  SimulatedPlan result;
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
