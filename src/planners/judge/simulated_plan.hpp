#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "cost/cost.hpp"
#include "plan/plan.hpp"
#include "planners/judge/known_plans.hpp"
#include "schedule/schedule.hpp"
#include "simulate/training_simulation.hpp"

namespace pptrain {

/// What the simulator says of a plan in the orders of its schedule. Where orders are searched, those of every
/// `OrderEffort` are simulated, and the fastest that fit count: `replay`, by which a search goes, knows little of
/// links, and orders that take equally long by it differ in the simulator.
struct SimulatedPlan {
  double iteration_seconds = 0.0;  ///< makespan, or what shared cores allow where that is more
  double bubble_fraction = 0.0;
  std::vector<double> peak_bytes;          ///< per device of the cluster, 0 where the plan uses none
  std::string why_not;                     ///< the device that lacks most memory; empty when the plan fits
  OrderEffort effort = OrderEffort::full;  ///< of these orders
  double work = 0.0;                       ///< simulated tasks, with what the order and the prices took
};

/// A plan of more tasks takes many seconds and more than a gigabyte to simulate, so closed forms have to do. Devices
/// that do the same at the same time count once.
constexpr double most_simulated_tasks = 4e6;

/// Simulates plans of an instance, each different one once, and keeps orders of tasks for plans that need the same.
/// Simulators share nothing but the instance, which they only read: threads that have one each do not disturb one
/// another.
class PlanSimulator {
 public:
  /// Orders are searched with `most_effort` at most.
  explicit PlanSimulator(const Instance& instance, OrderEffort most_effort = OrderEffort::full)
      : instance_(instance), most_effort_(most_effort) {}

  const Instance& instance() const { return instance_; }  ///< the instance given to the constructor
  /// F and B of every micro-batch and chunk on one device of each class.
  double tasks(const Plan& plan);
  /// Whether the plan is small enough.
  bool can(const Plan& plan);
  /// Whether the result of the plan is remembered, so that `of` simulates nothing.
  bool is_known(const Plan& plan) const { return known(plan) != nullptr; }
  /// The plan is valid and small enough. One whose schedule splits B and W needs a profile
  /// that does, else `Error` (exit code 2) is thrown.
  const SimulatedPlan& of(const Plan& plan);
  /// As `of`, but ends where orders that took little effort do not fit, or take so much longer than `best` seconds that
  /// more effort hardly helps. Then what they take counts, and is not remembered.
  SimulatedPlan against(const Plan& plan, double best);
  /// The plan in the orders of the tasks of `parent`, which has as many stages, chunks and micro-batches: what a plan
  /// that differs little comes to, without the search for an order of its own. Nothing is remembered.
  SimulatedPlan in_order_of(const Plan& parent, const Plan& plan);
  /// The part of the work that is spent before the plan's tasks are known.
  static double setup_cost(const Plan& plan);
  /// The part of the work that is spent before the plan's tasks are known, where so many devices stand for all.
  static double setup_cost(const Plan& plan, int representatives);

  /// Whether the plan's orders are searched, with more or less effort.
  static bool searches_orders(const Plan& plan);

 private:
  /// Schedule, V, unit, stages, micro-batches and what else their order depends on.
  using OrderKey = std::tuple<std::string, int, int, int, std::int64_t, OrderOptions>;
  OrderKey key_of(const Plan& plan, OrderEffort effort);
  /// Until the next call.
  const FoundOrders& orders_of(const Plan& plan, OrderEffort effort);
  const SimulatedPlan* known(const Plan& plan) const;
  TrainingSimulation& prepared(const Plan& plan);
  const OrderOptions& options_of(const Plan& plan);
  /// Orders of a plan, and what they were found with.
  struct Ordered {
    Plan plan;
    OrderEffort effort = OrderEffort::full;
    const FoundOrders* found = nullptr;
  };
  const FoundOrders& orders_of_parent(const Plan& parent);
  /// The plan in the fastest orders of efforts from the least on; ends early as `against` says.
  SimulatedPlan in_fastest_orders(const Plan& plan, double best, bool& ended_early);
  /// `order_work`: tasks that were scheduled until the orders were found.
  SimulatedPlan run(const Plan& plan, const std::vector<TaskOrder>& orders, std::int64_t order_work);

  const Instance& instance_;
  OrderEffort most_effort_;
  std::optional<TrainingSimulation> prepared_;  // of the plan that was asked for last
  std::optional<OrderOptions> options_;         // of that plan, with full effort
  std::optional<Ordered> parent_;               // in whose orders another plan was simulated last
  KnownPlans known_;
  std::deque<SimulatedPlan> results_;       // of `known_`
  std::map<OrderKey, FoundOrders> orders_;  // the last ones
  std::size_t kept_tasks_ = 0;              // in `orders_`
};

/// Replaces what is predicted of the plan by AMP's form with what the simulator says; where that costs too much, by
/// the larger form. Doing it again changes nothing.
void predict_by_simulation(PlanSimulator& simulator, Plan& plan);

/// The larger closed form as prediction of a plan that is not simulated: DAPPLE's knows that transfers share uplinks.
void predict_by_larger_form(Plan& plan);

}  // namespace pptrain
