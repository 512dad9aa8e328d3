#include "simulate/prices.hpp"

#include <set>

#include "cost/instances.hpp"
#include "schedule/schedule.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

Prices prices_of(const Profile& profile, const Cluster& cluster, const Plan& plan,
                 const std::vector<Tie>& ties = {}) {
  return Prices({profile, cluster, plan.global_batch_size, ties}, plan,
                compile_training(plan, task_orders(plan), {ties}));
}

/// Two layers of 100 parameters with cuts of 10 bytes, at degrees 1 and 2.
Profile priced_layers() {
  Profile profile = two_layers(10.0);
  profile.bytes_per_parameter = {2, 4, 8};
  for (ProfileLayer& each : profile.layers) each.parameters = 100;
  profile.layers[1].tensor_parallel_allreduce_bytes = 100;
  profile.layers[1].update_seconds[{"v", 2}] = 0.75;
  add_degree(profile, 2);
  return profile;
}

TEST_CASE("tasks of training are F, B, W, and B with W", "[simulate]") {
  for (const Op op : {Op::evaluate, Op::send, Op::reduce_gradients, Op::step})
    CHECK_FALSE(is_task(op));
  const std::vector<std::pair<Op, Phase>> tasks = {{Op::forward, Phase::forward},
                                                   {Op::backward_input, Phase::backward_input},
                                                   {Op::backward_weight, Phase::backward_weight},
                                                   {Op::backward, Phase::backward}};
  for (const auto& [op, phase] : tasks) {
    CHECK(is_task(op));
    CHECK(phase_of(op) == phase);
  }
}

TEST_CASE("a chunk has its price on the devices of its stage, whose members start together",
          "[simulate]") {
  const Prices prices = prices_of(priced_layers(), nodes_of(1, 8),
                                  uniform_plan({{0, 1}, {1, 2}}, 2, 2, 4, 4, "1f1b"));
  CHECK(prices.num_chunks() == 2);
  CHECK(prices.cut_bytes(ChunkId(0)) == 10.0);
  const ChunkPrice& price = prices.of(5, ChunkId(1));
  // Two samples in half the time; 200 bytes in a pair take 0.2 + 2 * 0.5 s.
  CHECK(price.task(Phase::forward).busy == Approx(1.0));
  CHECK(price.task(Phase::forward).communication == Approx(1.2));
  CHECK(price.task(Phase::forward).seconds == Approx(2.2));
  CHECK(price.task(Phase::backward_weight).seconds == Approx(1.0));
  CHECK(price.task(Phase::backward).seconds == Approx(3.2));
  CHECK(price.num_layers == 1);
  CHECK(prices.task_groups()[static_cast<std::size_t>(price.task_group)] == std::vector<int>{4, 5});
  CHECK(prices.of(0, ChunkId(1)).num_layers == 0);
  CHECK(prices.of(0, ChunkId(1)).task_group == -1);
  CHECK(prices.step_seconds(0) == 0.0);
  CHECK(prices.step_seconds(4) == 0.75);
  CHECK(prices.fixed_bytes(4) == 100 / 2 * 14);
}

TEST_CASE("the replicas of each shard all-reduce the gradients of a chunk on a lane of their own",
          "[simulate]") {
  const Prices prices = prices_of(priced_layers(), nodes_of(1, 8),
                                  uniform_plan({{0, 1}, {1, 2}}, 2, 2, 4, 4, "1f1b"));
  REQUIRE(prices.reductions().size() == 4);
  std::set<int> lanes;
  for (const PricedCollective& sum : prices.reductions()) {
    CHECK(sum.kind == PricedCollective::Kind::gradients);
    CHECK(sum.seconds == Approx(200.0 / 1000 + 2 * 0.5));
    CHECK((sum.at_end && !sum.after_each_task));
    CHECK((sum.lane >= 0 && sum.lane < prices.num_lanes()));
    lanes.insert(sum.lane);
  }
  CHECK(lanes.size() == 4);
  const int group = prices.of(7, ChunkId(1)).reduce_group;
  REQUIRE(group >= 0);
  CHECK(prices.reductions()[static_cast<std::size_t>(group)].programs == std::vector<int>{5, 7});
  CHECK(prices.of(7, ChunkId(1)).gather_group == -1);
}

TEST_CASE("with ZeRO stage 3 and several chunks weights are gathered and sums scattered",
          "[simulate]") {
  Plan plan = uniform_plan({{0, 1}, {1, 2}}, 2, 1, 2, 2, ScheduleChoice{"breadth-first", 2, 0});
  plan.stages[0].zero_stage = 3;
  const Cluster cluster = nodes_of(1, 2);
  const Prices prices = prices_of(priced_layers(), cluster, plan);
  REQUIRE(prices.reductions().size() == 4);
  const ChunkPrice& price = prices.of(1, ChunkId(1));
  REQUIRE((price.gather_group >= 0 && price.reduce_group >= 0));
  const PricedCollective& gather =
      prices.reductions()[static_cast<std::size_t>(price.gather_group)];
  const PricedCollective& sum = prices.reductions()[static_cast<std::size_t>(price.reduce_group)];
  CHECK(gather.kind == PricedCollective::Kind::weights);
  CHECK(gather.seconds == Approx(0.5 * (200.0 / 1000 + 1.0)));
  CHECK(sum.seconds == Approx(0.5 * (400.0 / 1000 + 1.0)));
  CHECK((sum.after_each_task && !sum.at_end));
  CHECK(gather.lane != sum.lane);
  CHECK(price.gathered_bytes == 200.0);
  CHECK_FALSE(price.gathers_layers);
  // The single chunk of a stage is gathered layer by layer, as its tasks go on.
  plan = uniform_plan({{0, 2}}, 2, 1, 2, 2, "1f1b");
  plan.stages[0].zero_stage = 3;
  const Prices layers = prices_of(priced_layers(), cluster, plan);
  CHECK(layers.of(0, ChunkId(0)).gathers_layers);
  CHECK(layers.of(0, ChunkId(0)).gather_group == -1);
  CHECK(layers.of(0, ChunkId(0)).task(Phase::forward).first_gather == Approx(0.6));
}

TEST_CASE("stages gather weights where they divide them as tasks need them", "[simulate]") {
  const Cluster cluster = nodes_of(2, 2);  // uplinks of 100 B/s
  Plan plan = uniform_plan({{0, 1}, {1, 2}}, 2, 1, 2, 2, "1f1b");
  for (int s : {0, 1}) plan.stages[s].devices = {{DeviceId(s)}, {DeviceId(2 + s)}};
  const auto bandwidth = [&](int first, int second) {
    plan.stages[0].zero_stage = first;
    plan.stages[1].zero_stage = second;
    return gathering_groups(cluster, plan).bandwidth(plan.stages[0], {0, 2});
  };
  CHECK(bandwidth(1, 0) == 100.0);
  CHECK(bandwidth(1, 3) == 50.0);
}

}  // namespace
}  // namespace pptrain
