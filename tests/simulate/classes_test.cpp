// One program of each class simulated instead of all of them gives what all of them give.
#include "simulate/classes.hpp"

#include "cost/random_plans.hpp"
#include "schedule/schedule.hpp"
#include "simulate/training_simulation.hpp"
#include "support/catch.hpp"
#include "support/ties.hpp"

namespace pptrain {
namespace {

constexpr double rounding = 1e-9;

bool close(double a, double b, double scale) { return std::abs(a - b) <= rounding * scale; }

void check_same(const Instance& instance, const Plan& plan, const TransferForms& forms = {}) {
  const std::vector<TaskOrder> orders = task_orders(plan);
  const CompileOptions options = {instance.ties, forms};
  const Programs programs = compile_training(plan, orders, options);
  const Simulation all = simulate(instance, plan, programs, {Recording::sums});
  const Simulation by_class = TrainingSimulation(instance, plan, options).run(orders);
  const double seconds = all.makespan_seconds;
  CHECK(close(by_class.makespan_seconds, seconds, seconds));
  REQUIRE(by_class.devices.size() == all.devices.size());
  for (std::size_t d = 0; d < all.devices.size(); ++d) {
    const SimulatedDevice& one = by_class.devices[d];
    const SimulatedDevice& other = all.devices[d];
    INFO("device " << other.device.value);
    CHECK(one.device == other.device);
    CHECK(close(one.busy_seconds, other.busy_seconds, seconds));
    CHECK(close(one.communication_seconds, other.communication_seconds, seconds));
    CHECK(close(one.idle_seconds, other.idle_seconds, seconds));
    CHECK(close(one.first_start_seconds, other.first_start_seconds, seconds));
    CHECK(close(one.last_end_seconds, other.last_end_seconds, seconds));
    CHECK(one.peak_bytes == other.peak_bytes);
    CHECK(one.peak_stored == other.peak_stored);
  }
}

/// Everything in slices, or everything whole.
TransferForms drawn_forms(RandomInstances& random, const Plan& plan) {
  if (random.chance(0.5)) return {};
  const std::size_t num_chunks = chunk_places(plan).size();
  return {std::vector<CutForms>(num_chunks, {TransferForm::slices, TransferForm::slices}),
          {TransferForm::slices}};
}

/// Equal nodes under equal switches and one that is different, with slow uplinks.
Cluster racks(RandomInstances& random) {
  Cluster made;
  made.name = "racks";
  made.device_kinds = {{"v", 1e9, {}, 0.0}, {"t", 1e9, {}, 0.0}};
  const int per_node = random.pick(1, 4);
  const Link uplink = {random.between(1.0, 20.0), random.chance(0.5) ? 0.0 : 0.1};
  const int num_racks = random.pick(1, 4);
  for (int r = 0; r < num_racks; ++r) {
    NodeGroup group;
    group.kind = fmt::format("node{}", r);
    group.device_kind = random.chance(0.8) ? "v" : "t";
    group.count = random.chance(0.7) ? 2 : 3;
    group.num_devices = per_node;
    group.link = {100.0, 0.01};
    group.uplink = uplink;
    group.switch_name = fmt::format("rack{}", r);
    made.groups.push_back(group);
    made.switches.push_back({group.switch_name, {random.chance(0.5) ? 15.0 : 10.0, 0.05}, ""});
  }
  made.finish("racks");
  return made;
}

/// No ties, a table of tokens, or several parameters that several layers share.
std::vector<Tie> drawn_ties(RandomInstances& random, const Profile& profile) {
  const std::int64_t layers = profile.num_layers();
  const std::int64_t which = random.pick(0, 2);
  return which == 0   ? std::vector<Tie>()
         : which == 1 ? test::token_tie(layers, 12, 0.5)
                      : test::many_ties(layers, 12, 0.5);
}

/// Stages of as many replicas as fit, or fewer, of one or two devices each, any schedule.
Plan grid(RandomInstances& random, const Instance& instance) {
  const int devices = instance.cluster.num_devices();
  const int tensor = devices % 2 == 0 && random.chance(0.4) ? 2 : 1;
  const int stages = random.pick(1, std::min(3, devices / tensor));
  const int replicas = std::min(8, devices / (stages * tensor));
  const bool in_chunks = stages > 1 && random.chance(0.4);
  const std::vector<std::string> names = {"1f1b", "gpipe", "zb-h1", "zb-h2"};
  const std::int64_t micro_batch = static_cast<std::int64_t>(replicas) * random.pick(1, 2);
  const ScheduleChoice schedule = {in_chunks ? "interleaved-1f1b" : names[random.pick(0, 3)],
                                   in_chunks ? 2 : 1, 0};
  Plan plan =
      uniform_plan(even_division(instance.profile.num_layers(), stages * schedule.virtual_stages),
                   replicas, tensor, 6 * micro_batch, micro_batch, schedule);
  for (Stage& stage : plan.stages) stage.zero_stage = random.chance(0.5) ? 0 : random.pick(1, 3);
  return plan;
}

TEST_CASE("classes of programs give what all programs give: any plan", "[simulate]") {
  for (unsigned seed = 0; seed < 400; ++seed) {
    RandomInstances random(seed);
    const Cluster cluster = random.cluster(8);
    const Profile profile = random.profile(random.pick(1, 8), 8);
    const Instance instance = {profile, cluster, random.pick(1, 8), drawn_ties(random, profile)};
    const Plan plan = random.plan(instance);
    INFO("seed " << seed << ", " << plan.shape() << ", " << plan.schedule.name);
    check_same(instance, plan, drawn_forms(random, plan));
  }
}

TEST_CASE(
    "classes of programs give what all programs give: grids whose replicas contend for uplinks",
    "[simulate]") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    RandomInstances random(seed);
    const Cluster cluster = racks(random);
    const Profile profile = random.profile(6, 4);
    Instance instance = {profile, cluster, 0, drawn_ties(random, profile)};
    const Plan plan = grid(random, instance);
    instance.global_batch_size = plan.global_batch_size;
    INFO("seed " << seed << ", " << plan.shape() << ", " << plan.schedule.name);
    check_same(instance, plan, drawn_forms(random, plan));
  }
}

TEST_CASE("equal replicas are one class for each stage", "[simulate]") {
  RandomInstances random(1);
  const Profile profile = random.profile(4, 4);
  Cluster cluster;
  cluster.device_kinds = {{"v", 1e9, {}, 0.0}};
  NodeGroup group;
  group.kind = "node";
  group.device_kind = "v";
  group.count = 32;
  group.num_devices = 8;
  group.link = {100.0, 0.01};
  group.uplink = {10.0, 0.1};
  cluster.groups = {group};
  cluster.finish("made");
  const Plan plan = uniform_plan(even_division(4, 4), 32, 2, 32 * 8, 32, "1f1b");
  const Programs programs = compile_training(plan, task_orders(plan), {});
  const Instance instance = {profile, cluster, plan.global_batch_size};
  ReceivedGathers gathers(instance, plan, programs);
  const ProgramClasses classes(cluster, programs, Prices(instance, plan, programs), gathers,
                               ReplicaShift(plan));
  CHECK(classes.programs().num() == 4);
  check_same(instance, plan);
}

}  // namespace
}  // namespace pptrain
