// Simulations in which what repeats is simulated once give what simulations of every micro-batch
// give.
#include "simulate/repetition.hpp"

#include "cost/random_plans.hpp"
#include "cost/transfer_forms.hpp"
#include "schedule/orders.hpp"
#include "simulate/training_simulation.hpp"
#include "support/catch.hpp"
#include "support/ties.hpp"

namespace pptrain {
namespace {

constexpr double rounding = 1e-9;

bool close(double a, double b, double scale) { return std::abs(a - b) <= rounding * scale; }

void check_same(const Simulation& one, const Simulation& other) {
  const double seconds = other.makespan_seconds;
  CHECK(close(one.makespan_seconds, seconds, seconds));
  REQUIRE(one.devices.size() == other.devices.size());
  for (std::size_t d = 0; d < one.devices.size(); ++d) {
    const SimulatedDevice& a = one.devices[d];
    const SimulatedDevice& b = other.devices[d];
    INFO("device " << a.device.value);
    CHECK(a.device == b.device);
    CHECK(close(a.busy_seconds, b.busy_seconds, seconds));
    CHECK(close(a.communication_seconds, b.communication_seconds, seconds));
    CHECK(close(a.idle_seconds, b.idle_seconds, seconds));
    CHECK(close(a.first_start_seconds, b.first_start_seconds, seconds));
    CHECK(close(a.last_end_seconds, b.last_end_seconds, seconds));
    CHECK(close(a.peak_bytes, b.peak_bytes, b.peak_bytes));
    CHECK(a.peak_stored == b.peak_stored);
  }
}

/// Two or three nodes, sometimes unlike ones, with slow uplinks below switches that may be slower.
Cluster nodes(RandomInstances& random) {
  Cluster made;
  made.name = "nodes";
  made.device_kinds = {{"v", 1e9, {}, 0.0}, {"t", 1e9, {}, 0.0}};
  const Link uplink = {random.between(2.0, 40.0), random.chance(0.5) ? 0.0 : 0.05};
  const int num_groups = random.pick(1, 2);
  for (int g = 0; g < num_groups; ++g) {
    NodeGroup group;
    group.kind = fmt::format("node{}", g);
    group.device_kind = random.chance(0.8) ? "v" : "t";
    group.count = random.pick(1, 2);
    group.num_devices = 4;
    group.link = {100.0, 0.01};
    group.host_link = {100.0, 0.0};
    group.uplink = uplink;
    group.switch_name = fmt::format("rack{}", g);
    made.groups.push_back(group);
    made.switches.push_back({group.switch_name, {random.chance(0.5) ? 15.0 : 30.0, 0.02}, ""});
  }
  made.finish("nodes");
  return made;
}

struct Drawn {
  const char* schedule;
  int chunks;  // per stage
};

/// Any schedule that repeats itself, on stages with equal or any numbers of layers.
Plan pipeline(RandomInstances& random, const Instance& instance) {
  const std::vector<Drawn> all = {
      {"1f1b", 1},  {"1f1b", 1}, {"dapple-b", 1}, {"interleaved-1f1b", 2}, {"zb-h1", 1},
      {"zb-h2", 1}, {"zb-v", 2}, {"zeropp", 2},   {"interleaved-1f1b", 3}, {"auto", 1},
      {"gpipe", 1}, {"auto", 2}};
  const Drawn drawn =
      all[static_cast<std::size_t>(random.pick(0, static_cast<int>(all.size()) - 1))];
  const int devices = instance.cluster.num_devices();
  const int tensor = random.chance(0.3) ? 2 : 1;
  const int stages = random.pick(2, std::min(4, devices / tensor));
  const int replicas = random.pick(1, std::min(3, devices / (stages * tensor)));
  const std::int64_t micro_batch = static_cast<std::int64_t>(replicas) + random.pick(0, 1);
  std::vector<Interval> layers =
      even_division(instance.profile.num_layers(), stages * drawn.chunks);
  for (std::size_t c = 0; c + 1 < layers.size(); ++c) {
    if (random.chance(0.7) || layers[c].size() == 1) continue;
    layers[c].end = layers[c + 1].begin = layers[c].end - 1;
  }
  const std::int64_t micro_batches = random.pick(20, 70);
  Plan plan = uniform_plan(layers, replicas, tensor, micro_batches * micro_batch, micro_batch,
                           ScheduleChoice{drawn.schedule, drawn.chunks, 0});
  for (Stage& stage : plan.stages) {
    stage.zero_stage = random.chance(0.4) ? 0 : random.pick(1, 3);
    stage.recompute = random.chance(0.8) ? Recompute::none : Recompute::full;
    stage.offload_activations = random.chance(0.1);
  }
  return plan;
}

TEST_CASE("what repeats is simulated once: drawn pipelines", "[simulate]") {
  int repeated = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    RandomInstances random(seed);
    const Cluster cluster = nodes(random);
    const Profile profile = random.profile(random.pick(12, 20), 4);
    Instance instance = {profile, cluster, 0};
    if (random.chance(0.3)) instance.ties = test::token_tie(profile.num_layers(), 12, 0.5);
    const Plan plan = pipeline(random, instance);
    instance.global_batch_size = plan.global_batch_size;
    INFO("seed " << seed << ", " << plan.shape() << ", " << plan.schedule.name << ", "
                 << plan.micro_batches);
    const TrainingSimulation simulation(instance, plan,
                                        {instance.ties, cheapest_forms(instance, plan)});
    const std::vector<TaskOrder> orders = task_orders(plan, simulation.order_options());
    const std::optional<Simulation> once = simulation.run_repeated(orders);
    if (!once) continue;
    ++repeated;
    check_same(*once, simulation.run_all(orders));
  }
  CHECK(repeated >= 100);
}

PipelineShape shape_of(int ranks, int chunks, int micro_batches) {
  PipelineShape shape;
  shape.ranks = ranks;
  shape.chunks_per_rank = chunks;
  shape.micro_batches = micro_batches;
  return shape;
}

TEST_CASE("orders without some of their periods are those of fewer micro-batches", "[simulate]") {
  for (const int ranks : {1, 2, 3, 5}) {
    for (const int chunks : {1, 2, 3}) {
      const auto orders = [&](int micro_batches) {
        return interleaved_orders(shape_of(ranks, chunks, micro_batches));
      };
      const int micro_batches = 16 * ranks;
      const auto repeated = repeated_tasks(orders(micro_batches), micro_batches);
      REQUIRE(repeated);
      CHECK(repeated->micro_batches == (chunks == 1 ? 1 : ranks));
      const int periods = repeated->periods() / 2;
      CHECK(without_periods(orders(micro_batches), *repeated, periods) ==
            orders(micro_batches - periods * repeated->micro_batches));
    }
  }
}

TEST_CASE("orders that do not repeat have no periods", "[simulate]") {
  CHECK(!repeated_tasks(breadth_first_orders(shape_of(3, 2, 24)), 24));
  CHECK(!repeated_tasks(gpipe_orders(shape_of(3, 1, 24)), 24));
}

}  // namespace
}  // namespace pptrain
