#include "planners/judge/planned_orders.hpp"

#include "cost/transfer_forms.hpp"
#include "planners/judge/simulated_plan.hpp"
#include "simulate/order_options.hpp"

namespace pptrain {

OrderOptions planned_order_options(const Instance& instance, const Plan& plan) {
  OrderOptions options = order_options(instance, plan);
  if (!PlanSimulator::searches_orders(plan)) return options;
  PlanSimulator simulator(instance);
  if (simulator.can(plan)) options.effort = simulator.of(plan).effort;
  return options;
}

Programs planned_programs(const Instance& instance, const Plan& plan) {
  return compile_training(plan, task_orders(plan, planned_order_options(instance, plan)),
                          {instance.ties, cheapest_forms(instance, plan)});
}

}  // namespace pptrain
