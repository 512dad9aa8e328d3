// What rows cost that go to the members with their experts.
#include "cost/instances.hpp"
#include "cost/messages.hpp"
#include "cost/stage_time.hpp"
#include "schedule/schedule.hpp"
#include "simulate/simulate.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// A layer, and one with experts of whose rows 40 bytes of each sample go and come.
Profile layers_with_experts() {
  Profile profile;
  profile.layers = {layer("attention", 1, 2, 3), layer("experts", 2, 2, 2)};
  for (ProfileLayer& each : profile.layers) each.parameters = 100;
  profile.layers[0].output_bytes = 10;
  profile.layers[1].exchange_bytes = 40;
  profile.axes = {{"experts", 8}};
  add_degree(profile, 2);
  return profile;
}

Plan plan_of(const std::vector<Interval>& experts, Recompute recompute = Recompute::none) {
  Plan plan = uniform_plan({{0, 2}}, 2, 1, 16, 4, "1f1b");
  plan.stages[0].recompute = recompute;
  plan.stages[0].blocks = {
      {{1, 2}, 1, 2, TensorPattern::all_to_all, plan.stages[0].samples, {{"experts", experts}}}};
  return plan;
}

TEST_CASE("rows take as long as the busiest member's link sends or receives them", "[cost]") {
  const Cluster cluster = nodes_of(1, 2);  // 1000 bytes per second, half a second
  Profile profile = layers_with_experts();
  const auto seconds = [&](const Plan& plan) {
    const StageParts parts(plan.stages[0]);
    REQUIRE(parts.all().size() == 2);
    CHECK(exchange_seconds({profile, cluster, 16}, parts.all()[0]).forward == 0.0);
    return exchange_seconds({profile, cluster, 16}, parts.all()[1]);
  };
  // Each has two samples, of which half of the rows leave: 40 bytes in 0.04 s. Four steps forward,
  // three backward.
  CHECK(seconds(plan_of({{0, 4}, {4, 8}})).forward == Approx(0.04 + 4 * 0.5));
  CHECK(seconds(plan_of({{0, 4}, {4, 8}})).backward == Approx(0.04 + 3 * 0.5));
  // Three quarters of the second one's rows go to the first.
  CHECK(seconds(plan_of({{0, 6}, {6, 8}})).forward == Approx(0.06 + 4 * 0.5));
  CHECK(seconds(plan_of({{0, 4}, {4, 8}}, Recompute::full)).backward == Approx(0.08 + 7 * 0.5));
  profile.layers[1].repeated = false;
  CHECK(seconds(plan_of({{0, 4}, {4, 8}}, Recompute::full)).backward == Approx(0.04 + 3 * 0.5));
}

TEST_CASE(
    "members compute what one device does of the samples whose rows come, at least of their own",
    "[cost]") {
  const Cluster cluster = nodes_of(1, 2);
  Profile profile = layers_with_experts();
  // Rows of the degree of the division are not needed.
  std::erase_if(profile.layers[1].rows,
                [](const ProfileRow& row) { return row.tensor_parallel == 2; });
  profile.layers[1].stored_bytes = 7;
  profile.bytes_per_parameter = {4.0, 4.0, 8.0};
  const Plan plan = plan_of({{0, 6}, {6, 8}});
  const Instance instance = {profile, cluster, 16};
  const StageParts parts(plan.stages[0]);
  const StagePart& part = parts.all()[1];
  CHECK(member_work(part, 0, 0).samples == 3.0);  // of four, three quarters of the rows
  CHECK(member_work(part, 0, 1).samples == 2.0);
  CHECK(part_seconds(instance, part).forward ==
        Approx(3.0 * 2.0 + exchange_seconds(instance, part).forward));
  const std::vector<double> bytes = memory_bytes(instance, plan);
  CHECK(bytes[0] - bytes[1] == Approx(16.0 * 100.0 * 0.5 + 7.0));
  const std::vector<double> work = device_work_seconds(instance, plan);
  CHECK(work[0] - work[1] == Approx(4.0 * (2.0 + 2.0 + 2.0)));
}

TEST_CASE(
    "rows that are sent lengthen tasks, and nothing is exchanged between the parts beside them",
    "[cost]") {
  const Cluster cluster = nodes_of(1, 2);
  Profile profile = layers_with_experts();
  const Plan plan = plan_of({{0, 4}, {4, 8}});
  const StageParts parts(plan.stages[0]);
  for (const StageParts::Boundary& boundary : parts.boundaries()) {
    CHECK(repartition_seconds({profile, cluster, 16}, boundary).total == 0.0);
  }
  const auto makespan = [&] {
    const Programs programs = compile_training(plan, task_orders(plan), {});
    return simulate({profile, cluster, 16}, plan, programs).makespan_seconds;
  };
  const double with = makespan();
  const DeviceMessages sent = device_messages({profile, cluster, 16}, plan)[0];
  profile.layers[1].exchange_bytes = 0.0;
  CHECK(with == Approx(makespan() + 4.0 * 2.0 * 0.04));
  const DeviceMessages without = device_messages({profile, cluster, 16}, plan)[0];
  CHECK(sent.bytes - without.bytes == Approx(4.0 * 2.0 * 40.0));
  CHECK(sent.messages == without.messages);
}

}  // namespace
}  // namespace pptrain
