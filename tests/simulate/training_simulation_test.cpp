// Tests that the result is that of all devices and micro-batches: classes_test.cpp,
// replica_shift_test.cpp and repetition_test.cpp.
#include "simulate/training_simulation.hpp"

#include "cost/instances.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

/// Two stages of eight replicas on four nodes of four devices, links without latency; F, B and W of
/// a sample take 1 s each, and nothing else takes time.
struct EightReplicas {
  Profile profile = two_layers(0.0);
  Cluster cluster = nodes_of(4, 4);
  Plan plan;

  explicit EightReplicas(std::int64_t micro_batches, const char* schedule = "1f1b")
      : plan(uniform_plan({{0, 1}, {1, 2}}, 8, 1, 8 * micro_batches, 8, schedule)) {
    cluster.groups[0].link.latency = cluster.groups[0].uplink.latency = 0.0;
    cluster.finish("made");
  }
  Instance instance() const { return {profile, cluster, plan.global_batch_size}; }
};

TEST_CASE("equal replicas are simulated once, and all devices are reported", "[simulate]") {
  const EightReplicas made(4);
  const Instance instance = made.instance();
  const TrainingSimulation simulation(instance, made.plan, {});
  CHECK(simulation.num_representatives() == 2 * 4);    // those on the first of a stage's two nodes
  CHECK(simulation.tasks_per_micro_batch() == 2 * 2);  // F and B of one device of each stage
  CHECK(same_plan(simulation.plan(), made.plan));
  const Simulation result = simulation.run(task_orders(made.plan));
  CHECK(result.makespan_seconds == 3.0 * (4 + 1));
  CHECK(result.trace.empty());
  REQUIRE(result.devices.size() == 16);
  for (int d = 0; d < 16; ++d) {
    const SimulatedDevice& device = result.devices[static_cast<std::size_t>(d)];
    CHECK(device.device == DeviceId(d));
    CHECK(device.busy_seconds == 3.0 * 4);
    CHECK(device.first_start_seconds == (d < 8 ? 0.0 : 1.0));
    CHECK(device.peak_stored == (d < 8 ? 2 : 1));
  }
}

TEST_CASE("micro-batches that repeat one another are simulated once where they are many",
          "[simulate]") {
  const EightReplicas few(4);
  const Instance few_instance = few.instance();
  CHECK_FALSE(TrainingSimulation(few_instance, few.plan, {}).run_repeated(task_orders(few.plan)));
  const EightReplicas many(1000);
  const Instance instance = many.instance();
  const TrainingSimulation simulation(instance, many.plan, {});
  const std::vector<TaskOrder> orders = task_orders(many.plan);
  const std::optional<Simulation> repeated = simulation.run_repeated(orders);
  REQUIRE(repeated);
  for (const Simulation& each : {*repeated, simulation.run(orders), simulation.run_all(orders)}) {
    CHECK(each.makespan_seconds == Approx(3.0 * (1000 + 1)).epsilon(1e-12));
    CHECK(each.devices[0].busy_seconds == Approx(3.0 * 1000).epsilon(1e-12));
    CHECK(each.devices[0].idle_seconds == Approx(3.0).epsilon(1e-9));
  }
}

TEST_CASE("orders with B and W apart need a profile that tells them apart", "[simulate]") {
  EightReplicas made(4, "zb-h1");
  made.profile.layers[1].rows[0].split_known = false;
  const Instance instance = made.instance();
  const TrainingSimulation simulation(instance, made.plan, {});
  const std::vector<TaskOrder> orders = task_orders(made.plan);
  CHECK(complaint_of([&] {
          simulation.run(orders);
        }).find("layer \"b\" has one time for the whole backward on \"v\"") != std::string::npos);
}

}  // namespace
}  // namespace pptrain
