#include "planners/judge/planned_orders.hpp"

#include "cost/instances.hpp"
#include "planners/judge/simulated_plan.hpp"
#include "planners/large_instances.hpp"
#include "simulate/order_options.hpp"
#include "simulate/simulate.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("orders that are not searched go by what the plan says alone", "[planners]") {
  const Profile profile = two_layers(100.0);
  const Cluster cluster = nodes_of(1, 2);
  const Instance instance = {profile, cluster, 8};
  const Plan plan = uniform_plan({{0, 1}, {1, 2}}, 1, 1, 8, 1, "1f1b");
  CHECK(planned_order_options(instance, plan) == order_options(instance, plan));
  CHECK(planned_order_options(instance, plan).effort == OrderEffort::full);
}

TEST_CASE("orders are searched with the effort that is fastest, in full for plans too large",
          "[planners]") {
  const Profile profile = two_layers(0.0);
  const Cluster cluster = nodes_of(1, 2);
  // A sketch of two equal stages cannot be beaten.
  const auto effort = [&](std::int64_t micro_batches) {
    return planned_order_options({profile, cluster, micro_batches},
                                 uniform_plan({{0, 1}, {1, 2}}, 1, 1, micro_batches, 1, "auto"))
        .effort;
  };
  CHECK(effort(8) == OrderEffort::sketch);
  // F and B of each micro-batch on two stages.
  CHECK(effort(static_cast<std::int64_t>(most_simulated_tasks) / 4 + 1) == OrderEffort::full);
}

TEST_CASE("programs of a plan take what the simulator says of it", "[planners]") {
  const Profile profile = blocks(12, 0.5);
  const Cluster cluster = mixed_nodes(2, 2);
  const Instance instance = {profile, cluster, 16};
  for (const ScheduleChoice& schedule :
       {ScheduleChoice{"1f1b", 1, 0}, {"zb-h1", 1, 0}, {"auto", 2, 0}, {"zb-v", 2, 0}}) {
    const Plan plan =
        uniform_plan(even_division(12, 4 * schedule.virtual_stages), 1, 1, 16, 1, schedule);
    CHECK(simulate(instance, plan, planned_programs(instance, plan)).makespan_seconds ==
          Approx(PlanSimulator(instance).of(plan).iteration_seconds).epsilon(1e-12));
  }
}

TEST_CASE("programs send slices where these and their gather cross sooner", "[planners]") {
  Profile profile = two_layers(1000.0);
  add_degree(profile, 2);
  const Cluster cluster = nodes_of(2, 2);
  const Instance instance = {profile, cluster, 1};
  const Plan plan = uniform_plan({{0, 1}, {1, 2}}, 1, 2, 1, 1, "1f1b");
  // Whole copies of both members take 21 s on the uplink, slices 11 s and a gather of 1 s.
  CHECK(simulate(instance, plan, planned_programs(instance, plan)).makespan_seconds ==
        Approx(0.5 + 12.0 + 0.5 + 1.0 + 12.0 + 1.0));
}

}  // namespace
}  // namespace pptrain
