#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cost/cost.hpp"
#include "plan/plan.hpp"
#include "planners/judge/known_orders.hpp"
#include "planners/judge/known_plans.hpp"
#include "schedule/schedule.hpp"
#include "simulate/training_simulation.hpp"

namespace pptrain {

/// What the simulator says of a plan in the orders of its schedule. Where orders are searched,
/// those of every `OrderEffort` are simulated, and the fastest that fit count: `replay`, by which a
/// search goes, knows little of links, and orders that take equally long by it differ in the
/// simulator.
struct SimulatedPlan {
  double iteration_seconds = 0.0;  ///< makespan, or what shared cores allow where that is more
  double bubble_fraction = 0.0;
  std::vector<double> peak_bytes;  ///< per device of the cluster, 0 where the plan uses none
  std::string why_not;             ///< the device that lacks most memory; empty when the plan fits
  OrderEffort effort = OrderEffort::full;  ///< of these orders
  double work = 0.0;  ///< simulated tasks, with what the order and the prices took
};

/// A plan of more tasks takes many seconds and more than a gigabyte to simulate, so closed forms
/// have to do. Devices that do the same at the same time count once.
constexpr double most_simulated_tasks = 4e6;

/// Simulates plans of an instance, each different one once, and keeps orders of tasks for plans
/// that need the same. Simulators share nothing but the instance, which they only read, and orders
/// that are known: threads that have one each do not disturb one another.
class PlanSimulator {
 public:
  /// Orders are searched with `most_effort` at most, and kept in `orders`; null: for this simulator
  /// alone.
  explicit PlanSimulator(const Instance& instance, OrderEffort most_effort = OrderEffort::full,
                         std::shared_ptr<KnownOrders> orders = nullptr)
      : instance_(instance),
        most_effort_(most_effort),
        orders_(orders ? std::move(orders) : std::make_shared<KnownOrders>()) {}

  /// The orders that this simulator knows, which other simulators may share.
  const std::shared_ptr<KnownOrders>& orders() const { return orders_; }

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
  /// As `of`, but ends where orders that took little effort do not fit, or take so much longer than
  /// `best` seconds that more effort hardly helps. Then what they take counts, and is not
  /// remembered. The result is the same whatever the simulator was asked before.
  SimulatedPlan against(const Plan& plan, double best);
  /// The fastest orders of the plan's tasks, for `in_orders` of plans that differ little; until the
  /// next call of another function.
  const std::vector<TaskOrder>& fastest_orders(const Plan& plan);
  /// The plan in these orders, of a plan with as many stages, chunks and micro-batches: what it
  /// comes to without the search for orders of its own. Nothing is remembered.
  SimulatedPlan in_orders(const Plan& plan, const std::vector<TaskOrder>& orders);
  /// The part of the work that is spent before the plan's tasks are known.
  static double setup_cost(const Plan& plan);
  /// The part of the work that is spent before the plan's tasks are known, where so many devices
  /// stand for all.
  static double setup_cost(const Plan& plan, int representatives);

  /// Whether the plan's orders are searched, with more or less effort.
  static bool searches_orders(const Plan& plan);

 private:
  std::shared_ptr<const FoundOrders> orders_of(const Plan& plan, OrderEffort effort);
  const SimulatedPlan* known(const Plan& plan) const;
  TrainingSimulation& prepared(const Plan& plan);
  const OrderOptions& options_of(const Plan& plan);
  /// What some effort came to before there was more.
  struct Rung {
    OrderEffort effort = OrderEffort::sketch;
    SimulatedPlan fastest;
  };
  struct Result {
    SimulatedPlan fastest;
    std::vector<Rung> before;
  };
  /// A plan whose fastest orders were asked for.
  struct Ordered {
    Plan plan;
    std::shared_ptr<const FoundOrders> found;
  };
  /// The plan in the fastest orders of efforts from the least on; ends early as `against` says.
  Result in_fastest_orders(const Plan& plan, double best, bool& ended_early);
  /// `order_work`: tasks that were scheduled until the orders were found.
  SimulatedPlan run(const Plan& plan, const std::vector<TaskOrder>& orders,
                    std::int64_t order_work);

  const Instance& instance_;
  OrderEffort most_effort_;
  std::optional<TrainingSimulation> prepared_;  // of the plan that was asked for last
  std::optional<OrderOptions> options_;         // of that plan, with full effort
  std::optional<Ordered> ordered_;              // the last one
  KnownPlans known_;
  std::deque<Result> results_;  // of `known_`
  std::shared_ptr<KnownOrders> orders_;
};

/// Replaces what is predicted of the plan by AMP's form with what the simulator says; where that
/// costs too much, by the larger form. Doing it again changes nothing.
void predict_by_simulation(PlanSimulator& simulator, Plan& plan);

/// The larger closed form as prediction of a plan that is not simulated: DAPPLE's knows that
/// transfers share uplinks.
void predict_by_larger_form(Plan& plan);

}  // namespace pptrain
