#include "planners/judge/simulated_plan.hpp"

#include <algorithm>

#include "base/infinity.hpp"
#include "cost/bubble.hpp"
#include "cost/transfer_forms.hpp"

namespace pptrain {
namespace {

constexpr double work_per_scheduled = 0.03;  // tasks simulated in the time in which orders have one
                                             // more task

/// What more effort leaves of the time that orders take, at least: beside sketches in nine cases of
/// ten, beside brief searches in the mean (tests/schedule/zero_bubble_test.cpp).
double least_of(OrderEffort effort) {
  if (effort == OrderEffort::sketch) return 0.95;
  return effort == OrderEffort::brief ? 0.995 : 1.0;
}

bool fits(const SimulatedPlan& result) { return result.why_not.empty(); }

/// Whether a plan that comes to this by orders of some effort hardly takes less than `best` seconds
/// by more.
bool is_hopeless(const SimulatedPlan& result, OrderEffort effort, double best) {
  return best < infinity && (!fits(result) || least_of(effort) * result.iteration_seconds >= best);
}

/// The peaks are asked for where a plan does not fit.
SimulatedPlan without_needless_peaks(SimulatedPlan result) {
  if (fits(result)) result.peak_bytes = {};
  return result;
}

bool is_faster(const SimulatedPlan& result, const SimulatedPlan& other) {
  if (fits(result) != fits(other)) return fits(result);
  return result.iteration_seconds < other.iteration_seconds;
}

}  // namespace

std::shared_ptr<const FoundOrders> PlanSimulator::orders_of(const Plan& plan, OrderEffort effort) {
  const ScheduleChoice& schedule = plan.schedule;
  OrderOptions options = options_of(plan);
  options.effort = effort;
  KnownOrders::Key key = {schedule.name,     schedule.virtual_stages, schedule.unit,
                          plan.num_stages(), plan.micro_batches,      std::move(options)};
  if (std::shared_ptr<const FoundOrders> known = orders_->find(key)) return known;
  FoundOrders found = find_task_orders(plan, std::get<OrderOptions>(key));
  return orders_->add(std::move(key), std::move(found));
}

const SimulatedPlan* PlanSimulator::known(const Plan& plan) const {
  const std::optional<std::size_t> number = known_.find(plan);
  return number ? &results_[*number].fastest : nullptr;
}

TrainingSimulation& PlanSimulator::prepared(const Plan& plan) {
  if (!prepared_ || !same_plan(plan, prepared_->plan())) {
    prepared_.emplace(instance_, plan,
                      CompileOptions{instance_.ties, cheapest_forms(instance_, plan)});
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
  return static_cast<double>(prepared(plan).tasks_per_micro_batch()) *
         static_cast<double>(plan.micro_batches);
}

double PlanSimulator::setup_cost(const Plan& plan) { return setup_cost(plan, plan.num_devices()); }

double PlanSimulator::setup_cost(const Plan& plan, int representatives) {
  constexpr double per_chunk = 20.0;  // tasks simulated in the time that prices and class of a
                                      // chunk on a device take
  constexpr double per_device = 2.0;  // tasks simulated in the time that finding who represents a
                                      // device takes
  return per_device * plan.num_devices() +
         per_chunk * representatives * plan.schedule.virtual_stages;
}

bool PlanSimulator::searches_orders(const Plan& plan) {
  return schedule_kind(plan.schedule.name).search != OrderSearch::none;
}

bool PlanSimulator::can(const Plan& plan) {
  return is_known(plan) || tasks(plan) <= most_simulated_tasks;
}

const SimulatedPlan& PlanSimulator::of(const Plan& plan) {
  if (!is_known(plan)) against(plan, infinity);
  return *known(plan);
}

SimulatedPlan PlanSimulator::against(const Plan& plan, double best) {
  if (const std::optional<std::size_t> number = known_.find(plan)) {
    for (const Rung& rung : results_[*number].before) {
      if (is_hopeless(rung.fastest, rung.effort, best)) return rung.fastest;
    }
    return results_[*number].fastest;
  }
  bool ended_early = false;
  Result result = in_fastest_orders(plan, best, ended_early);
  if (ended_early) return result.fastest;
  known_.add(plan);
  return results_.emplace_back(std::move(result)).fastest;
}

PlanSimulator::Result PlanSimulator::in_fastest_orders(const Plan& plan, double best,
                                                       bool& ended_early) {
  if (!searches_orders(plan)) {
    const std::shared_ptr<const FoundOrders> found = orders_of(plan, most_effort_);
    return {run(plan, found->orders, found->work), {}};
  }
  Result result;
  SimulatedPlan& fastest = result.fastest;
  std::shared_ptr<const FoundOrders> its_orders;
  double work = 0.0;
  for (const OrderEffort effort : {OrderEffort::sketch, OrderEffort::brief, OrderEffort::full}) {
    if (effort > most_effort_) break;
    const std::shared_ptr<const FoundOrders> found = orders_of(plan, effort);
    if (its_orders && found->orders == its_orders->orders) {
      fastest.work = work += work_per_scheduled * static_cast<double>(found->work);
      continue;
    }
    SimulatedPlan simulated = run(plan, found->orders, found->work);
    work += simulated.work;
    if (effort == OrderEffort::sketch || is_faster(simulated, fastest)) {
      fastest = std::move(simulated);
      fastest.effort = effort;
      its_orders = found;
    }
    fastest.work = work;
    if (effort == most_effort_) break;
    ended_early = is_hopeless(fastest, effort, best);
    if (ended_early) break;
    result.before.push_back({effort, without_needless_peaks(fastest)});
  }
  return result;
}

/// Many plans are simulated in the orders of one: these are looked up once.
const std::vector<TaskOrder>& PlanSimulator::fastest_orders(const Plan& plan) {
  if (!ordered_ || !same_plan(ordered_->plan, plan)) {
    ordered_ = {plan, orders_of(plan, of(plan).effort)};
  }
  return ordered_->found->orders;
}

SimulatedPlan PlanSimulator::in_orders(const Plan& plan, const std::vector<TaskOrder>& orders) {
  return run(plan, orders, 0);
}

SimulatedPlan PlanSimulator::run(const Plan& plan, const std::vector<TaskOrder>& orders,
                                 std::int64_t order_work) {
  const TrainingSimulation& simulated = prepared(plan);
  const Simulation simulation = simulated.run(orders);
  SimulatedPlan result;
  result.work = tasks(plan) + setup_cost(plan, simulated.num_representatives()) +
                work_per_scheduled * static_cast<double>(order_work);
  result.iteration_seconds =
      std::max(simulation.makespan_seconds, core_limit_seconds(instance_, plan));
  result.bubble_fraction = stretched_bubble(simulation.bubble_fraction(),
                                            simulation.makespan_seconds, result.iteration_seconds);
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
  predicted.bubble_fraction =
      stretched_bubble(predicted.bubble_fraction, predicted.iteration_seconds, larger);
  predicted.iteration_seconds = larger;
}

}  // namespace pptrain
