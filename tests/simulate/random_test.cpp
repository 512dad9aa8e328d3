#include "cost/random_plans.hpp"
#include "cost/stage_time.hpp"
#include "cost/two_level_sum.hpp"
#include "program/check.hpp"
#include "schedule/schedule.hpp"
#include "simulate/simulate.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

bool equal(const Simulation& a, const Simulation& b) {
  if (a.makespan_seconds != b.makespan_seconds || a.trace.size() != b.trace.size()) return false;
  return std::equal(a.trace.begin(), a.trace.end(), b.trace.begin(),
                    [](const TraceEvent& x, const TraceEvent& y) {
                      return x.device == y.device && x.instruction == y.instruction &&
                             x.begin == y.begin && x.end == y.end;
                    });
}

/// Seconds to gather the weights of all layers, one after another, where ZeRO divides anything.
double layer_gathers(const Instance& instance, Stage stage) {
  if (stage.zero_stage == 0) return 0.0;
  stage.zero_stage = 3;
  double sum = 0.0;
  for (int l = 0; l < instance.profile.num_layers(); ++l)
    sum += gather_seconds(instance, {&stage, {{l, l + 1}}});
  return sum;
}

/// All gradients in one go, part after part; where ZeRO does not divide them within nodes first.
double sums_seconds(const Instance& instance, const StageParts& parts) {
  if (parts.all().front().mesh->zero_stage > 0) return gradient_seconds(instance, parts);
  double sum = 0.0;
  for (const StagePart& part : parts.all()) {
    double bytes = 0.0;
    for (const Interval& layers : part.layers)
      bytes += gradient_bytes(instance.profile, *part.mesh, layers);
    double slowest = 0.0;
    for (int k = 0; k < part.mesh->tensor_parallel; ++k) {
      const double mine = member_load(*part.mesh, k) * bytes;
      slowest = std::max(
          slowest, two_level_sum(instance.cluster, shard_group(*part.mesh, k), mine).seconds(1.0));
    }
    sum += slowest;
  }
  return sum;
}

/// How many sums pass an uplink one after another at worst: those of all members where nodes share
/// it.
double sums_in_turn(const Cluster& cluster, const Stage& stage) {
  const int node = cluster.node_of(stage.devices[0][0]);
  bool spans = false;
  for (const auto& replica : stage.devices) {
    for (const DeviceId device : replica) spans = spans || cluster.node_of(device) != node;
  }
  return spans ? stage.tensor_parallel : 1;
}

TEST_CASE("simulations of random plans agree with the cost model", "[simulate]") {
  for (unsigned seed = 0; seed < 400; ++seed) {
    RandomInstances random(seed);
    const Cluster cluster = random.cluster(8);
    const Profile profile = random.profile(random.pick(1, 8), 8);
    const Instance instance = {profile, cluster, random.pick(1, 8)};
    const Plan plan = random.plan(instance);
    INFO("seed " << seed << ", " << plan.shape() << ", " << plan.schedule.name);
    const Programs programs = compile_training(plan, task_orders(plan), {});
    REQUIRE(find_violation(plan, programs).empty());
    const Simulation simulation = simulate(instance, plan, programs, {Recording::events});
    CHECK(equal(simulation, simulate(instance, plan, programs, {Recording::events})));
    CHECK(simulation.makespan_seconds >= lower_bound_seconds(instance) * (1 - 1e-9));
    const std::vector<double> work = device_work_seconds(instance, plan);
    const std::vector<double> need = memory_bytes(instance, plan);
    const double step = longest_update_seconds(instance, plan);
    for (const SimulatedDevice& device : simulation.devices) {
      const Stage& stage = plan.stages[programs[&device - simulation.devices.data()].stage.index()];
      // Offloaded optimizer state moves in the step.
      CHECK(device.busy_seconds >= work[device.device.index()] * (1 - 1e-9));
      CHECK(device.busy_seconds <=
            (work[device.device.index()] + (stage.offload ? step : 0.0)) * (1 + 1e-9));
      CHECK(device.busy_seconds + device.communication_seconds <=
            simulation.makespan_seconds * (1 + 1e-9));
      if (plan.schedule.name != "1f1b") continue;
      // Layers that are recomputed or that ZeRO holds whole for the time being are not in the
      // memory model.
      const bool more = stage.recompute == Recompute::full || stage.zero_stage >= 2;
      CHECK(device.peak_bytes >= need[device.device.index()] * (1 - 1e-9));
      if (!more) CHECK(device.peak_bytes == Approx(need[device.device.index()]));
    }
    if (plan.num_stages() > 1) continue;
    const StageParts parts(plan.stages[0]);
    const PassSeconds pass = stage_seconds(instance, parts);
    const double in_line = static_cast<double>(plan.micro_batches) * (pass.forward + pass.backward);
    const double sums =
        plan.stages[0].zero_stage >= 2 ? 0.5 * static_cast<double>(plan.micro_batches) + 0.5 : 1.0;
    const double gathers =
        plan.stages[0].zero_stage >= 3 ? 2.0 * static_cast<double>(plan.micro_batches) : 1.0;
    const double between =
        sums * sums_seconds(instance, parts) + gathers * layer_gathers(instance, plan.stages[0]);
    CHECK(simulation.makespan_seconds <=
          (in_line + sums_in_turn(cluster, plan.stages[0]) * between + step) * (1 + 1e-9));
  }
}

}  // namespace
}  // namespace pptrain
