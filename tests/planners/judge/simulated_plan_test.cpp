// Plans simulated one after another, again, and in several threads.
#include "planners/judge/simulated_plan.hpp"

#include <algorithm>
#include <thread>

#include "cost/instances.hpp"
#include "cost/transfer_forms.hpp"
#include "planners/judge/planned_orders.hpp"
#include "planners/large_instances.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

constexpr int layers = 12;
constexpr std::int64_t batch = 64;

/// Uneven layers on 16 devices of two kinds.
struct MixedInstance {
  Profile profile = blocks(layers, 0.5);
  Cluster cluster = mixed_nodes(2, 8);
  Instance instance = {profile, cluster, batch};
};

/// Plans for 16 devices that differ in one thing each.
std::vector<Plan> unlike_plans() {
  const auto plan = [](const std::vector<Interval>& chunks, int data, std::int64_t micro_batch,
                       const ScheduleChoice& schedule) {
    return uniform_plan(chunks, data, 1, batch, micro_batch, schedule);
  };
  std::vector<Plan> plans = {plan(even_division(layers, 4), 4, 4, {"1f1b", 1, 0}),
                             plan(even_division(layers, 4), 4, 8, {"1f1b", 1, 0}),
                             plan(even_division(layers, 4), 4, 4, {"zb-h1", 1, 0}),
                             plan(even_division(layers, 8), 4, 4, {"interleaved-1f1b", 2, 0}),
                             plan(even_division(layers, 2), 8, 8, {"1f1b", 1, 0}),
                             plan({{0, 4}, {4, 6}, {6, 9}, {9, 12}}, 4, 4, {"1f1b", 1, 0})};
  const Plan first = plans.front();
  const auto add = [&](const auto& change) {
    plans.push_back(first);
    change(plans.back().stages[1]);
  };
  add([](Stage& stage) { stage.zero_stage = 1; });
  add([](Stage& stage) { stage.recompute = Recompute::full; });
  add([](Stage& stage) { std::swap(stage.devices[0], stage.devices[3]); });
  add([](Stage& stage) { stage.zero_groups = {{0, 2}, {2, 4}}; });
  add([](Stage& stage) {
    stage.zero_stage = 1;
    stage.zero_slices = {{0, 1}, {1, 2}, {2, 4}, {4, 8}};
  });
  return plans;
}

bool same(const SimulatedPlan& a, const SimulatedPlan& b) {
  return a.iteration_seconds == b.iteration_seconds && a.bubble_fraction == b.bubble_fraction &&
         a.peak_bytes == b.peak_bytes && a.why_not == b.why_not;
}

TEST_CASE("each different plan is known by itself", "[planners]") {
  const std::vector<Plan> plans = unlike_plans();
  KnownPlans known;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    for (std::size_t j = 0; j < plans.size(); ++j) CHECK((known.find(plans[j]) == j) == (j < i));
    CHECK(known.add(plans[i]) == i);
  }
}

TEST_CASE("a plan that was simulated is known, and gives what it gave", "[planners]") {
  const MixedInstance mixed;
  const Instance& instance = mixed.instance;
  PlanSimulator simulator(instance);
  for (const Plan& plan : unlike_plans()) {
    CHECK(!simulator.is_known(plan));
    const SimulatedPlan first = simulator.of(plan);
    CHECK(simulator.is_known(plan));
    CHECK(first.work >= simulator.tasks(plan));
    CHECK(same(simulator.of(plan), first));
    CHECK(same(PlanSimulator(instance).of(plan), first));
  }
}

TEST_CASE("devices that one stands for cost a search next to nothing", "[planners]") {
  const Profile profile = blocks(layers, 0.5);
  Cluster cluster = mixed_nodes(8, 8);
  for (NodeGroup& group : cluster.groups) {
    group.device_kind = cluster.groups.front().device_kind;
    group.link = cluster.groups.front().link;
    group.uplink = cluster.groups.front().uplink;
  }
  cluster.finish("made");
  const Instance instance = {profile, cluster, batch};
  Plan plan = uniform_plan(even_division(layers, 4), 16, 1, batch, 16, "1f1b");
  CHECK(PlanSimulator(instance).of(plan).work < PlanSimulator::setup_cost(plan));
  std::swap(plan.stages[0].devices[0], plan.stages[1].devices[0]);  // no shift of the replicas
                                                                    // leaves this as it is
  CHECK(PlanSimulator(instance).of(plan).work > PlanSimulator::setup_cost(plan));
}

/// Plans over uneven layers whose orders are searched.
std::vector<Plan> searched_plans() {
  std::vector<Plan> plans;
  for (const ScheduleChoice& schedule :
       {ScheduleChoice{"auto", 1, 0}, {"zb-h2", 1, 0}, {"auto", 2, 0}, {"zb-v", 2, 0}}) {
    for (const int data : {2, 4, 8}) {
      const std::vector<Interval> chunks =
          even_division(layers, schedule.virtual_stages * 16 / data);
      if (std::ssize(chunks) <= layers)
        plans.push_back(uniform_plan(chunks, data, 1, batch, data, schedule));
    }
  }
  return plans;
}

TEST_CASE("of orders that take more or less effort those count that the simulator finds fastest",
          "[planners]") {
  const Cluster cluster = mixed_nodes(2, 8);
  int won_by_less = 0;
  for (const double spread : {0.2, 0.5, 0.8}) {
    const Profile profile = blocks(layers, spread);
    const Instance instance = {profile, cluster, batch};
    for (const Plan& plan : searched_plans()) {
      const TrainingSimulation simulation(instance, plan,
                                          {instance.ties, cheapest_forms(instance, plan)});
      std::vector<double> seconds;
      for (const OrderEffort effort :
           {OrderEffort::sketch, OrderEffort::brief, OrderEffort::full}) {
        OrderOptions options = simulation.order_options();
        options.effort = effort;
        seconds.push_back(simulation.run(task_orders(plan, options)).makespan_seconds);
      }
      const double fastest = *std::min_element(seconds.begin(), seconds.end());
      CHECK(PlanSimulator(instance).of(plan).iteration_seconds == fastest);
      CHECK(simulation.run(task_orders(plan, planned_order_options(instance, plan)))
                .makespan_seconds == fastest);
      won_by_less += fastest < seconds.back() ? 1 : 0;
    }
  }
  CHECK(won_by_less > 0);
}

TEST_CASE("a plan far above the best is given up with its sketch, and not remembered",
          "[planners]") {
  const MixedInstance mixed;
  const Instance& instance = mixed.instance;
  for (const Plan& plan : searched_plans()) {
    PlanSimulator simulator(instance);
    const double seconds = PlanSimulator(instance).of(plan).iteration_seconds;
    const SimulatedPlan given_up = simulator.against(plan, 0.8 * seconds);
    CHECK(given_up.iteration_seconds >= seconds);
    CHECK(given_up.effort == OrderEffort::sketch);
    CHECK(!simulator.is_known(plan));
    CHECK(simulator.against(plan, 1.2 * seconds).iteration_seconds == seconds);
    CHECK(simulator.is_known(plan));
  }
}

TEST_CASE("what a plan comes to against the best one does not depend on what was simulated before",
          "[planners]") {
  const MixedInstance mixed;
  const Instance& instance = mixed.instance;
  int given_up = 0;
  for (const Plan& plan : searched_plans()) {
    PlanSimulator asked_before(instance);
    const SimulatedPlan whole = asked_before.of(plan);
    for (const double part : {0.8, 0.97, 0.999, 1.001, 1.2}) {
      const double best = part * whole.iteration_seconds;
      const SimulatedPlan again = asked_before.against(plan, best);
      const SimulatedPlan first = PlanSimulator(instance).against(plan, best);
      CHECK(again.iteration_seconds == first.iteration_seconds);
      CHECK(again.work == first.work);
      CHECK(again.effort == first.effort);
      CHECK(again.why_not == first.why_not);
      given_up += again.work < whole.work ? 1 : 0;
    }
  }
  CHECK(given_up > 0);
}

TEST_CASE("orders that one simulator searched are known to others that share them", "[planners]") {
  const MixedInstance mixed;
  const Instance& instance = mixed.instance;
  for (const Plan& plan : searched_plans()) {
    PlanSimulator first(instance);
    PlanSimulator second(instance, OrderEffort::full, first.orders());
    const std::vector<TaskOrder>& orders = first.fastest_orders(plan);
    CHECK(&second.fastest_orders(plan) == &orders);
    CHECK(same(second.of(plan), PlanSimulator(instance).of(plan)));
    CHECK(same(second.in_orders(plan, orders), first.of(plan)));
  }
}

TEST_CASE("simulators in several threads give what one gives", "[planners]") {
  const MixedInstance mixed;
  const Instance& instance = mixed.instance;
  const std::vector<Plan> plans = unlike_plans();
  const auto simulate_all = [&] {
    PlanSimulator simulator(instance);
    std::vector<SimulatedPlan> results;
    for (const Plan& plan : plans) results.push_back(simulator.of(plan));
    return results;
  };
  const std::vector<SimulatedPlan> alone = simulate_all();
  std::vector<std::vector<SimulatedPlan>> together(4);
  std::vector<std::thread> threads;
  for (std::vector<SimulatedPlan>& results : together) {
    threads.emplace_back([&results, &simulate_all] { results = simulate_all(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<SimulatedPlan>& results : together) {
    REQUIRE(results.size() == alone.size());
    for (std::size_t i = 0; i < alone.size(); ++i) CHECK(same(results[i], alone[i]));
  }
}

TEST_CASE("tasks are those of one device of each class, and say which plans are too large",
          "[planners]") {
  const Profile profile = two_layers(0.0);
  const Cluster cluster = nodes_of(1, 4);
  const auto plan = [](std::int64_t micro_batches) {
    return uniform_plan({{0, 1}, {1, 2}}, 2, 1, 2 * micro_batches, 2, "1f1b");
  };
  const Instance instance = {profile, cluster, 16};
  PlanSimulator simulator(instance);
  CHECK(simulator.tasks(plan(8)) == 2 * 2 * 8);  // F and B on two stages of equal replicas
  const auto most = static_cast<std::int64_t>(most_simulated_tasks) / 4;
  CHECK(simulator.can(plan(most)));
  CHECK_FALSE(simulator.can(plan(most + 1)));
}

TEST_CASE("a simulated plan has the peak of each device, and the one that lacks most memory",
          "[planners]") {
  Profile profile = two_layers(0.0);
  profile.layers[0].parameters = 100.0;  // of 16 bytes each
  profile.layers[1].parameters = 200.0;
  const Cluster cluster = nodes_of(1, 3, 1500.0);
  const Plan plan = uniform_plan({{0, 1}, {1, 2}}, 1, 1, 2, 1, "1f1b");
  const Instance instance = {profile, cluster, 2};
  PlanSimulator simulator(instance);
  const SimulatedPlan result = simulator.of(plan);
  CHECK(result.peak_bytes == std::vector<double>{1600.0, 3200.0, 0.0});
  CHECK(result.why_not.starts_with("device 1 (v)"));
}

TEST_CASE("schedules that split B and W need a profile that does", "[planners]") {
  Profile profile = two_layers(0.0);
  for (ProfileLayer& layer : profile.layers) layer.rows[0].split_known = false;
  const Cluster cluster = nodes_of(1, 2);
  const Instance instance = {profile, cluster, 4};
  const auto complaint = [&](const char* schedule) {
    PlanSimulator simulator(instance);
    return complaint_of([&] {
      simulator.of(uniform_plan({{0, 1}, {1, 2}}, 1, 1, 4, 1, schedule));
    });
  };
  CHECK(complaint("zb-h1") != "nothing was refused");
  CHECK(complaint("1f1b") == "nothing was refused");
}

TEST_CASE("a prediction is replaced by the simulator's once", "[planners]") {
  const Profile profile = two_layers(100.0);
  const Cluster cluster = nodes_of(1, 2);
  const Instance instance = {profile, cluster, 2};
  Plan plan = uniform_plan({{0, 1}, {1, 2}}, 1, 1, 2, 2, "1f1b");
  plan.predicted = Prediction();
  plan.predicted->iteration_seconds = 9.0;
  PlanSimulator simulator(instance);
  predict_by_simulation(simulator, plan);
  const SimulatedPlan& simulated = simulator.of(plan);
  const Prediction& predicted = *plan.predicted;
  CHECK(predicted.basis == PredictionBasis::simulation);
  CHECK(predicted.iteration_seconds == simulated.iteration_seconds);
  CHECK(predicted.bubble_fraction == simulated.bubble_fraction);
  CHECK(predicted.peak_bytes == simulated.peak_bytes);
  plan.predicted->iteration_seconds = 1.0;  // as if it were another simulation's
  predict_by_simulation(simulator, plan);
  predict_by_larger_form(plan);
  CHECK(predicted.iteration_seconds == 1.0);
}

TEST_CASE("plans that are not simulated are predicted by the larger form", "[planners]") {
  Plan plan = uniform_plan({{0, 1}, {1, 2}}, 1, 1, 2, 2, "1f1b");
  plan.predicted = Prediction();
  plan.predicted->iteration_seconds = 9.0;
  plan.predicted->bubble_fraction = 0.25;
  plan.predicted->estimates["dapple"] = 8.0;
  predict_by_larger_form(plan);
  CHECK(plan.predicted->iteration_seconds == 9.0);
  CHECK(plan.predicted->bubble_fraction == 0.25);
  plan.predicted->estimates["dapple"] = 12.0;
  for (int again = 0; again < 2; ++again) {
    predict_by_larger_form(plan);
    CHECK(plan.predicted->basis == PredictionBasis::estimate);
    CHECK(plan.predicted->iteration_seconds == 12.0);
    CHECK(plan.predicted->bubble_fraction == Approx(1.0 - 0.75 * 9.0 / 12.0));
  }
  // Where a simulation would cost too much, it is the same.
  const auto micro_batches = static_cast<std::int64_t>(most_simulated_tasks);
  const Profile profile = two_layers(0.0);
  const Cluster cluster = nodes_of(1, 2);
  const Instance instance = {profile, cluster, micro_batches};
  PlanSimulator simulator(instance);
  Plan large = uniform_plan({{0, 1}, {1, 2}}, 1, 1, micro_batches, 1, "1f1b");
  large.predicted = plan.predicted;
  large.predicted->estimates["dapple"] = 15.0;
  predict_by_simulation(simulator, large);
  CHECK(large.predicted->basis == PredictionBasis::estimate);
  CHECK(large.predicted->iteration_seconds == 15.0);
}

}  // namespace
}  // namespace pptrain
