// What replicas exchange for batch norms.
#include "cost/instances.hpp"
#include "cost/messages.hpp"
#include "cost/stage_time.hpp"
#include "schedule/schedule.hpp"
#include "simulate/simulate.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// Two layers, of which the first has two batch norms with 25 channels each where they are asked
/// for.
Profile normalised_layers(bool batch_norms) {
  Profile profile;
  profile.layers = {layer("a", 1, 2, 3), layer("b", 2, 2, 2)};
  for (ProfileLayer& each : profile.layers) each.parameters = 100;
  profile.layers[0].output_bytes = 10;
  if (batch_norms) profile.layers[0].batch_norms = 2, profile.layers[0].batch_norm_channels = 50;
  return profile;
}

Plan plan_of(Recompute recompute) {
  Plan plan = uniform_plan({{0, 2}}, 2, 1, 16, 4, "1f1b");
  plan.stages[0].recompute = recompute;
  return plan;
}

TEST_CASE("replicas gather the statistics of batch norms in F and sum as many numbers in B",
          "[cost]") {
  const Cluster cluster = nodes_of(1, 2);
  const Profile without = normalised_layers(false), with = normalised_layers(true);
  for (const Recompute recompute : {Recompute::none, Recompute::full}) {
    INFO(to_string(recompute));
    const Plan plan = plan_of(recompute);
    const StageParts parts(plan.stages[0]);
    const TensorSeconds norms = batch_norm_seconds({with, cluster, 16}, parts.all().front());
    const double gather = 2.0 * 0.7;  // 0.5 * (2*1/2*400/1000 + 2*1*0.5)
    const double sum = 2.0 * 1.2;     // 2*1/2*200/1000 + 2*1*0.5
    const bool again = recompute == Recompute::full;
    CHECK(norms.forward == Approx(gather));
    CHECK(norms.backward == Approx(sum + (again ? gather : 0.0)));
    const double more = norms.forward + norms.backward;
    const auto stage = [&](const Profile& profile) {
      return amp_terms({profile, cluster, 16}, plan).stage_seconds[0];
    };
    CHECK(stage(with) == Approx(stage(without) + more));
    const auto simulated = [&](const Profile& profile) {
      const Programs programs = compile_training(plan, task_orders(plan), {});
      return simulate({profile, cluster, 16}, plan, programs).makespan_seconds;
    };
    CHECK(simulated(with) == Approx(simulated(without) + 4.0 * more));
  }
  CHECK(batch_norm_seconds(with, {1000.0, 0.5}, 0, 1).forward == 0.0);
  CHECK(batch_norm_seconds(with, {1000.0, 0.5}, 1, 2).backward == 0.0);
}

TEST_CASE("batch norms of layers that full recomputation does not make again are in F once",
          "[cost]") {
  const Cluster cluster = nodes_of(1, 2);
  Profile profile = normalised_layers(true);
  const auto seconds_and_messages = [&](Recompute recompute) {
    const Plan plan = plan_of(recompute);
    const Instance instance = {profile, cluster, 16};
    const StageParts parts(plan.stages[0]);
    return std::pair(batch_norm_seconds(instance, parts.all().front()).backward,
                     device_messages(instance, plan)[0].bytes);
  };
  CHECK(seconds_and_messages(Recompute::full) > seconds_and_messages(Recompute::none));
  profile.layers[0].repeated = false;
  CHECK(seconds_and_messages(Recompute::full) == seconds_and_messages(Recompute::none));
}

TEST_CASE("each batch norm is a message to every other replica and a wait, in F and in B",
          "[cost]") {
  const Cluster cluster = nodes_of(1, 2);
  const Profile without = normalised_layers(false), with = normalised_layers(true);
  for (const Recompute recompute : {Recompute::none, Recompute::full}) {
    const Plan plan = plan_of(recompute);
    const DeviceMessages before = device_messages({without, cluster, 16}, plan)[0];
    const DeviceMessages after = device_messages({with, cluster, 16}, plan)[0];
    const double passes = recompute == Recompute::full ? 3.0 : 2.0;
    CHECK(after.messages - before.messages == Approx(4.0 * passes * 2.0));
    CHECK(after.waits - before.waits == Approx(4.0 * passes * 2.0));
    CHECK(after.bytes - before.bytes == Approx(4.0 * passes * 50.0 * 8.0));
  }
}

}  // namespace
}  // namespace pptrain
