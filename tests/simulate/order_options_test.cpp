// Task orders from the times and the memory of a plan's stages.
#include "simulate/order_options.hpp"

#include "cost/instances.hpp"
#include "program/check.hpp"
#include "schedule/orders.hpp"
#include "schedule/replay.hpp"
#include "simulate/simulate.hpp"
#include "support/catch.hpp"

using namespace pptrain;

namespace {

/// Three layers of 3, 6 and 3 s that store 10 bytes; one node of three devices, a slow link.
Profile unequal_layers() {
  Profile profile;
  profile.layers = {layer("a", 1, 1, 1), layer("b", 2, 2, 2), layer("c", 1, 1, 1)};
  for (ProfileLayer& l : profile.layers) {
    l.output_bytes = 1500.0;
    l.stored_bytes = 10.0;
  }
  return profile;
}

Plan line(const std::string& schedule, int micro_batches) {
  return uniform_plan(even_division(3, 3), 1, 1, micro_batches, 1, schedule);
}

Simulation simulated(const Instance& instance, const Plan& plan, const OrderOptions& options) {
  const Programs programs = compile_training(plan, task_orders(plan, options), {});
  check_programs(plan, programs);
  return simulate(instance, plan, programs);
}

bool fits(const Instance& instance, const Simulation& simulation) {
  for (const SimulatedDevice& device : simulation.devices) {
    if (device.peak_bytes > instance.cluster.kind_of(device.device).memory) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("orders go by the times of chunks, cuts and all-reduces", "[order-options]") {
  Profile profile = unequal_layers();
  profile.bytes_per_parameter = {2, 4, 8};
  for (ProfileLayer& l : profile.layers) l.parameters = 100.0;
  profile.layers[0].tensor_parallel_allreduce_bytes = 250.0;
  add_kind(profile, "t", 3.0);
  add_degree(profile, 2);
  Cluster cluster = nodes_of(2, 2, 1e5);
  add_slow_node(cluster, 2, 1e5);
  const Instance instance = {profile, cluster, 8};

  // Layers 0 and 1 on two tensor-parallel devices of node 0; layer 2 on a replica of node 1 and one
  // of the slow node.
  Plan plan = uniform_plan({{0, 2}, {2, 3}}, 1, 2, 8, 2, "auto");
  plan.stages[0].recompute = Recompute::full;
  plan.stages[1].replicas = 2;
  plan.stages[1].tensor_parallel = 1;
  plan.stages[1].devices = {{DeviceId(2)}, {DeviceId(4)}};
  plan.stages[1].samples = {{0, 1}, {1, 2}};
  const OrderOptions options = order_options(instance, plan);

  // Two samples at half the time. An all-reduce of 500 bytes in a pair: 500 / 1000 + 2 x 0.5 s. B
  // recomputes F, after gathering 3000 bytes of gradients that came in slices: 1500 / 1000 + 0.5 s.
  REQUIRE(options.seconds.size() == 2);
  CHECK(options.seconds[0].forward == Approx(1 + 2 + 1.5));
  CHECK(options.seconds[0].backward_input == Approx((1 + 2 + 1.5) + (1 + 2 + 1.5) + 2.0));
  CHECK(options.seconds[0].backward_weight == Approx(1 + 2));
  CHECK(options.seconds[1] == TaskSeconds{3.0, 3.0, 3.0});  // the slow replica
  // Each replica needs 1500 bytes: both leave node 0 over its uplink of 100 B/s and 1 s.
  REQUIRE(options.cuts.size() == 1);
  CHECK(options.cuts[0].forward.seconds == Approx(31.0));
  CHECK(options.cuts[0].forward.busy == Approx(30.0));
  CHECK(options.cuts[0].backward == options.cuts[0].forward);  // in slices, once
  CHECK(options.cuts[0].port == Cut::Port::uplink);
  // 400 bytes between nodes: 400 / 100 + 2 x 1 s.
  REQUIRE(options.reduce_seconds.size() == 2);
  CHECK(options.reduce_seconds[0] == 0.0);
  CHECK(options.reduce_seconds[1] == Approx(6.0));
  // Two samples of layer 1, since F of layer 0 needs nothing to be computed again; one of layer 2.
  // What is left beside 14 bytes for each parameter of a device.
  CHECK(options.stored == std::vector<StoredBytes>{{20, 20, 0, 0, 0}, {10, 10, 0, 0, 0}});
  CHECK(options.room == std::vector<double>{1e5 - 1400, 1e5 - 1400});
  CHECK(options.most_stored.empty());
}

TEST_CASE(
    "1F1B counts what a micro-batch holds until B, orders with B and W apart what is left too",
    "[order-options]") {
  Profile profile = unequal_layers();
  for (ProfileLayer& l : profile.layers) {
    l.output_bytes = 1.0;
    for (ProfileRow& row : l.rows)
      row.bytes = LayerBytes{10.0 * row.samples, 25.0 * row.samples, 0.0, 0.0, 0.0};
  }
  // Three micro-batches of 10 bytes, 15 more while one of them is in B and W at once, and two
  // messages of a byte.
  const Cluster cluster = nodes_of(1, 3, 3 * 10 + 15 + 2);
  const Instance instance = {profile, cluster, 12};
  const OrderOptions whole = order_options(instance, line("1f1b", 12));
  CHECK(whole.most_stored == std::vector<int>{3, 3, 3});
  CHECK(whole.room.empty());
  const OrderOptions apart = order_options(instance, line("auto", 12));
  CHECK(apart.stored == std::vector<StoredBytes>(3, {10, 25, 0, 0, 0}));
  CHECK(apart.room == std::vector<double>(3, 3 * 10 + 15));
  for (const char* name : {"1f1b", "auto"}) {
    INFO(name);
    const Plan plan = line(name, 12);
    const Simulation simulation = simulated(instance, plan, order_options(instance, plan));
    CHECK(fits(instance, simulation));
    CHECK(simulation.devices[0].peak_stored == 3);
  }
}

TEST_CASE("a schedule looks only at what its order depends on", "[order-options]") {
  const Profile profile = unequal_layers();
  const Cluster cluster = nodes_of(1, 3, 25.0);
  const Instance instance = {profile, cluster, 8};
  CHECK(order_options(instance, line("gpipe", 8)) == OrderOptions());
  const OrderOptions warm_up = order_options(instance, line("1f1b", 8));
  CHECK(warm_up.seconds.empty());
  CHECK(warm_up.most_stored == std::vector<int>{2, 2, 2});
  CHECK_FALSE(order_options(instance, line("zb-h1", 8)).seconds.empty());
}

TEST_CASE("warm-ups end where memory does", "[order-options]") {
  const Profile profile = unequal_layers();
  const Cluster cluster = nodes_of(1, 3, 25.0);
  const Instance instance = {profile, cluster, 8};
  for (const char* name : {"1f1b", "dapple-b", "zb-h1", "zb-h2", "auto", "zeropp"}) {
    INFO(name);
    const Plan plan = line(name, 8);
    CHECK_FALSE(fits(instance, simulated(instance, plan, {})));
    CHECK(fits(instance, simulated(instance, plan, order_options(instance, plan))));
  }
}

TEST_CASE("memory for less than a micro-batch makes an order that does not fit",
          "[order-options]") {
  const Profile profile = unequal_layers();
  const Cluster cluster = nodes_of(1, 3, 5.0);
  const Instance instance = {profile, cluster, 8};
  for (const std::string& name : schedule_names()) {
    if (name == "zb-v") continue;  // of two chunks per stage
    INFO(name);
    const Plan plan = line(name, 8);
    CHECK_FALSE(fits(instance, simulated(instance, plan, order_options(instance, plan))));
  }
}

TEST_CASE("orders from real times beat those from equal times", "[order-options]") {
  // Costs 1, 2, 1; the second link is slow: 1500 / 500 + 0.5 s beside tasks of 1 and 2 s.
  const Profile profile = unequal_layers();
  Cluster cluster = nodes_of(1, 3, 45.0);
  cluster.groups[0].link = {1e6, 0.01};
  cluster.groups[0].num_devices = 2;
  add_slow_node(cluster, 1, 45.0);
  cluster.device_kinds[1].name = "v";
  cluster.device_kinds.pop_back();
  cluster.groups[1].device_kind = "v";
  for (NodeGroup& group : cluster.groups) group.uplink = {750.0, 0.5};
  cluster.finish("made");
  for (const char* name : {"zb-h1", "auto"}) {
    for (const int micro_batches : {6, 12, 24}) {
      INFO(name << " m " << micro_batches);
      const Instance instance = {profile, cluster, micro_batches};
      const Plan plan = line(name, micro_batches);
      const OrderOptions options = order_options(instance, plan);
      OrderOptions equal;  // what fits stays known
      equal.stored = options.stored;
      equal.room = options.room;
      const Simulation ours = simulated(instance, plan, options);
      const Simulation theirs = simulated(instance, plan, equal);
      CHECK(fits(instance, ours));
      CHECK(ours.makespan_seconds <= 0.9 * theirs.makespan_seconds);
    }
  }
}

TEST_CASE("the shape that orders are made for takes what the simulator says", "[order-options]") {
  // One device per stage, so that nothing is shared but ways from one to the next.
  const Profile profile = unequal_layers();
  const Cluster cluster = nodes_of(1, 3, 1e6);
  const Instance instance = {profile, cluster, 12};
  for (const char* name : {"zb-h1", "zb-h2", "auto", "zeropp"}) {
    INFO(name);
    const Plan plan = line(name, 12);
    const OrderOptions options = order_options(instance, plan);
    PipelineShape shape;
    shape.ranks = 3;
    shape.micro_batches = 12;
    shape.seconds = options.seconds;
    shape.cuts = options.cuts;
    shape.reduce_seconds = options.reduce_seconds;
    const std::vector<TaskOrder> orders = task_orders(plan, options);
    CHECK(replay(shape, orders)->makespan ==
          Approx(simulated(instance, plan, options).makespan_seconds));
  }
}
