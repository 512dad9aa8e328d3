// Replicas that a shift takes to one another are simulated as their representatives are.
#include "simulate/replica_shift.hpp"

#include "cost/random_plans.hpp"
#include "schedule/schedule.hpp"
#include "simulate/training_simulation.hpp"
#include "support/catch.hpp"
#include "support/ties.hpp"

namespace pptrain {
namespace {

constexpr double rounding = 1e-9;

bool close(double a, double b, double scale) { return std::abs(a - b) <= rounding * scale; }

/// Racks of equal nodes, sometimes one that is different; the switches of some have other uplinks.
Cluster racks(RandomInstances& random) {
  Cluster made;
  made.name = "racks";
  made.device_kinds = {{"v", 1e9, {}, 0.0}, {"t", 1e9, {}, 0.0}};
  const int num_racks = random.pick(1, 4);
  const bool one_switch = random.chance(0.4);
  const Link uplink = {random.between(1.0, 20.0), random.chance(0.5) ? 0.0 : 0.1};
  NodeGroup group;
  group.num_devices = random.pick(1, 4);
  group.link = {100.0, 0.01};
  group.host_link = {100.0, 0.0};
  group.uplink = uplink;
  group.count = random.pick(1, 4);
  for (int r = 0; r < num_racks; ++r) {
    group.kind = fmt::format("node{}", r);
    group.device_kind = random.chance(0.9) ? "v" : "t";
    group.switch_name = one_switch ? "rack" : fmt::format("rack{}", r);
    made.groups.push_back(group);
    if (one_switch && r > 0) continue;
    made.switches.push_back({group.switch_name, {random.chance(0.8) ? 15.0 : 10.0, 0.05}, "hall"});
  }
  if (random.chance(0.5)) made.switches.push_back({"hall", {40.0, 0.0}, ""});
  made.finish("racks");
  return made;
}

/// Stages of equal replicas, as many on each or half as many, which divide their state among all or
/// in equal groups.
Plan pipeline(RandomInstances& random, const Instance& instance) {
  const int devices = instance.cluster.num_devices();
  const int tensor = devices % 2 == 0 && random.chance(0.4) ? 2 : 1;
  const int stages = random.pick(1, std::min(3, devices / tensor));
  const int most = devices / (stages * tensor);
  const int replicas = random.chance(0.7) ? std::max(1, most / 2 * 2) : random.pick(1, most);
  const std::int64_t micro_batch = static_cast<std::int64_t>(replicas) * random.pick(1, 2);
  const bool in_chunks = stages > 1 && random.chance(0.4);
  const ScheduleChoice schedule = {in_chunks ? "interleaved-1f1b" : "1f1b", in_chunks ? 2 : 1, 0};
  Plan plan =
      uniform_plan(even_division(instance.profile.num_layers(), stages * schedule.virtual_stages),
                   replicas, tensor, 4 * micro_batch, micro_batch, schedule);
  for (Stage& stage : plan.stages) {
    if (replicas % 2 == 0 && random.chance(0.2)) {
      stage.replicas /= 2;
      stage.devices.resize(static_cast<std::size_t>(stage.replicas));
      stage.samples = even_division(micro_batch, stage.replicas);
    }
    stage.zero_stage = random.chance(0.5) ? 0 : random.pick(1, 3);
    if (stage.zero_stage > 0 && stage.replicas % 2 == 0 && random.chance(0.3)) {
      // The first of every two replicas has the larger slice.
      for (std::int64_t first = 0; first < 3 * stage.replicas / 2; first += 3) {
        stage.zero_slices.insert(stage.zero_slices.end(),
                                 {{first, first + 2}, {first + 2, first + 3}});
      }
      continue;
    }
    const int group = random.pick(1, stage.replicas);
    if (stage.zero_stage == 0 || stage.replicas % group != 0 || random.chance(0.5)) continue;
    for (int first = 0; first < stage.replicas; first += group)
      stage.zero_groups.push_back({first, first + group});
  }
  return plan;
}

TransferForms drawn_forms(RandomInstances& random, const Plan& plan) {
  if (random.chance(0.5)) return {};
  const std::size_t num_chunks = chunk_places(plan).size();
  return {std::vector<CutForms>(num_chunks, {TransferForm::slices, TransferForm::slices}),
          {TransferForm::slices}};
}

TEST_CASE("representatives of shifted replicas give what all devices give", "[simulate]") {
  int shifted = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    RandomInstances random(seed);
    const Cluster cluster = racks(random);
    const Profile profile = random.profile(6, 4);
    Instance instance = {profile, cluster, 0};
    if (random.chance(0.3)) instance.ties = test::token_tie(profile.num_layers(), 12, 0.5);
    const Plan plan = pipeline(random, instance);
    instance.global_batch_size = plan.global_batch_size;
    INFO("seed " << seed << ", " << plan.shape() << ", " << plan.schedule.name);
    if (ReplicaShift(cluster, plan, instance.ties).turns() == 1) continue;
    ++shifted;
    const std::vector<TaskOrder> orders = task_orders(plan);
    const CompileOptions options = {instance.ties, drawn_forms(random, plan)};
    const Simulation all = simulate(instance, plan, compile_training(plan, orders, options));
    const Simulation one = TrainingSimulation(instance, plan, options).run_all(orders);
    const double seconds = all.makespan_seconds;
    CHECK(close(one.makespan_seconds, seconds, seconds));
    REQUIRE(one.devices.size() == all.devices.size());
    for (std::size_t d = 0; d < all.devices.size(); ++d) {
      CHECK(one.devices[d].device == all.devices[d].device);
      CHECK(close(one.devices[d].busy_seconds, all.devices[d].busy_seconds, seconds));
      CHECK(close(one.devices[d].communication_seconds, all.devices[d].communication_seconds,
                  seconds));
      CHECK(close(one.devices[d].last_end_seconds, all.devices[d].last_end_seconds, seconds));
      CHECK(one.devices[d].peak_bytes == all.devices[d].peak_bytes);
      CHECK(one.devices[d].peak_stored == all.devices[d].peak_stored);
    }
  }
  CHECK(shifted >= 100);
}

/// 8 equal nodes of 4 devices.
Cluster equal_nodes() {
  Cluster cluster;
  cluster.device_kinds = {{"v", 1e9, {}, 0.0}, {"t", 1e9, {}, 0.0}};
  NodeGroup group;
  group.kind = "node";
  group.device_kind = "v";
  group.count = 8;
  group.num_devices = 4;
  group.link = {100.0, 0.01};
  group.uplink = {10.0, 0.1};
  cluster.groups = {group};
  cluster.finish("made");
  return cluster;
}

TEST_CASE("replicas are shifted by whole nodes", "[simulate]") {
  const Cluster cluster = equal_nodes();
  const Plan plan = uniform_plan(even_division(4, 2), 8, 2, 64, 16, "1f1b");
  const ReplicaShift shift(cluster, plan, {});
  CHECK(shift.turns() == 4);
  CHECK(shift.num_representatives() == 2 * 2 * 2);
  CHECK(shift.representatives() == std::vector<int>{0, 1, 2, 3, 16, 17, 18, 19});
  CHECK(shift.representative_of(DeviceId(6)) == 2);
  CHECK(shift.turns_to(DeviceId(6)) == 1);
  CHECK(shift.before(DeviceId(6), 1) == DeviceId(2));
  CHECK(shift.before(DeviceId(2), 1) == DeviceId(14));
  CHECK(shift.first_owner(3) == 0);
  CHECK(shift.num_owners(3) == 4);
}

TEST_CASE("unlike nodes and uneven samples are not shifted", "[simulate]") {
  const Plan plan = uniform_plan(even_division(4, 2), 8, 2, 64, 16, "1f1b");
  Cluster unlike = equal_nodes();
  unlike.groups.push_back(unlike.groups.front());
  unlike.groups.front().count = 1;
  unlike.groups.back().count = 7;
  unlike.groups.back().device_kind = "t";
  unlike.finish("made");
  CHECK(ReplicaShift(unlike, plan, {}).turns() == 1);
  Plan uneven = plan;
  uneven.stages[1].samples[0].end = uneven.stages[1].samples[1].begin = 3;
  CHECK(ReplicaShift(equal_nodes(), uneven, {}).turns() == 1);
}

}  // namespace
}  // namespace pptrain
