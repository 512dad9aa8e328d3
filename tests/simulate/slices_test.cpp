#include "cost/instances.hpp"
#include "program/check.hpp"
#include "schedule/schedule.hpp"
#include "simulate/simulate.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

const TransferForms slices = {{{TransferForm::slices, TransferForm::slices}},
                              {TransferForm::slices}};

Simulation simulated(const Instance& instance, const Plan& plan, const TransferForms& forms) {
  const Programs programs = compile_training(plan, task_orders(plan), {instance.ties, forms});
  check_programs(plan, programs, instance.ties);
  return simulate(instance, plan, programs, {Recording::events});
}

TEST_CASE("slices over a shared uplink and their gather take their time", "[simulate]") {
  Profile profile = two_layers(100);
  for (ProfileLayer& l : profile.layers) {  // one second at degree 2, too
    for (ProfileRow row = l.rows.front(); l.rows.size() < 2;) {
      row.tensor_parallel = 2;
      l.rows.push_back(row);
    }
  }
  const Cluster cluster = nodes_of(2, 2);
  const Instance instance = {profile, cluster, 1};
  const Plan plan = uniform_plan({{0, 1}, {1, 2}}, 1, 2, 1, 1, "1f1b");
  // Whole: 2 x 100 B at 100 B/s and 1 s. F 0-1, F 4-5, BW 5-7, BW 10-12.
  CHECK(simulated(instance, plan, {}).makespan_seconds == 12.0);
  // Slices: 2 x 50 B and 1 s, then half of 100 B at 1000 B/s and 0.5 s. F 0-1, F 3.55-4.55, BW
  // until 6.55, BW 9.1-11.1.
  const Simulation simulation = simulated(instance, plan, slices);
  CHECK(simulation.makespan_seconds == Approx(11.1));
  for (const SimulatedDevice& device : simulation.devices) {
    CHECK(device.communication_seconds == Approx(2.55));
    CHECK(device.busy_seconds == 3.0);
  }
  int gathers = 0;
  for (const TraceEvent& event : simulation.trace) {
    if (event.instruction.op != Op::gather_received) continue;
    ++gathers;
    CHECK(event.lane == Lane::communication);
    CHECK(event.end - event.begin == Approx(0.55));
  }
  CHECK(gathers == 4);
}

TEST_CASE("replicas receive slices of a tied gradient and gather them", "[simulate]") {
  const Profile profile = two_layers(0);
  const Cluster cluster = nodes_of(2, 2);
  Instance instance = {profile, cluster, 2};
  instance.ties = {{"wte.weight", {0, 1}, "vocabulary", 100, 10.0}};
  const Plan plan = uniform_plan({{0, 1}, {1, 2}}, 2, 1, 2, 2, "1f1b");
  // F and B cross in 1 s each: F 0-1, F 2-3, BW 3-5, BW 6-8, after which 1000 B of gradients cross
  // each way: of the last stage from 5 on. Whole: two copies at 100 B/s, 20 s and 1 s.
  CHECK(simulated(instance, plan, {}).makespan_seconds == Approx(8.0 + 21.0));
  // Slices: 10 s and 1 s, then a gather of half of 1000 B at 1000 B/s, 1 s.
  CHECK(simulated(instance, plan, slices).makespan_seconds == Approx(8.0 + 11.0 + 1.0));
}

}  // namespace
}  // namespace pptrain
