// GPT-2 with layers of a stage divided differently: the recorded losses and gradient norms.
#include "reference.hpp"
#include "runtime/execute/session.hpp"
#include "support/catch.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

/// A block of so many replicas x members, with the shares of the samples that are given.
Block block(Interval layers, int tensor_parallel, const std::vector<Interval>& samples) {
  return {
      layers,          static_cast<int>(samples.size()),
      tensor_parallel, tensor_parallel == 1 ? TensorPattern::replicate : TensorPattern::megatron,
      samples,         {}};
}

void check(const Reference& reference, const Plan& plan) {
  INFO(write_plan(plan));
  validate_plan(plan, static_cast<int>(reference.config.model.layers) + 2, 4, "made by the test");
  check_curve(train_reference(MPI_COMM_WORLD, reference, plan,
                              static_cast<int>(reference.config.training.steps)),
              reference);
  const Model model = build_model(reference.config.model, reference.config.training, "test");
  Session session(MPI_COMM_WORLD, reference.config, model, plan, RankMap::identity(4));
  reference.fill(session);
  CHECK(session.evaluate(reference.samples(0)) == Approx(reference.losses[0]).margin(5e-6));
}

Plan with(Plan plan, int zero_stage, Recompute recompute = Recompute::none) {
  for (Stage& stage : plan.stages) {
    stage.zero_stage = zero_stage;
    stage.recompute = recompute;
  }
  return plan;
}

const Interval embedding = {0, 1};  // of six layers
const Interval output = {5, 6};

}  // namespace

TEST_CASE("an output layer divided over the devices that replicate the blocks", "[np4]") {
  for (const char* run : {"untied", "tied", "untied_sched"}) {
    const Reference reference(run);
    Plan plan = reference.plan(1, 4, 1, 8, "1f1b");
    plan.stages[0].blocks = {block(output, 4, {{0, 8}})};
    check(reference, plan);
    Plan deep = reference.plan(2, 2, 1, 4, "1f1b");
    deep.stages[0].blocks = {block(embedding, 2, {{0, 4}})};
    deep.stages[0].blocks[0].shards = {{"vocabulary", {{0, 200}, {200, 257}}}};
    deep.stages[1].samples = {{0, 1}, {1, 4}};
    deep.stages[1].blocks = {block(output, 2, {{0, 4}})};
    deep.stages[1].blocks[0].pattern = TensorPattern::sp1;
    check(reference, deep);
  }
}

TEST_CASE("a tied embedding whose ends are divided differently in one stage", "[np4]") {
  const Reference reference("tied");
  Plan plan = reference.plan(1, 4, 1, 8, "1f1b");
  SECTION("the first end divided, replicas between") {
    plan.stages[0].blocks = {block(embedding, 4, {{0, 8}}), block(output, 2, {{0, 3}, {3, 8}})};
    plan.stages[0].blocks[1].shards = {{"vocabulary", {{0, 100}, {100, 257}}}};
  }
  SECTION("both ends alike, divided otherwise than the layers between") {
    plan.stages[0].blocks = {block({1, 5}, 2, {{0, 5}, {5, 8}})};
  }
  SECTION("no layer between") {
    plan.stages[0].blocks = {block({0, 3}, 1, {{0, 1}, {1, 3}, {3, 5}, {5, 8}})};
  }
  for (int zero_stage = 0; zero_stage <= 3; ++zero_stage) {
    check(reference,
          with(plan, zero_stage, zero_stage % 2 == 0 ? Recompute::none : Recompute::full));
  }
}

TEST_CASE("a tied embedding whose ends are blocks of two stages", "[np4]") {
  const Reference reference("tied");
  Plan plan = reference.plan(2, 2, 1, 4, "1f1b");
  plan.stages[0].samples = {{0, 3}, {3, 4}};
  plan.stages[0].blocks = {block(embedding, 2, {{0, 4}})};
  for (int zero_stage = 0; zero_stage <= 3; ++zero_stage) check(reference, with(plan, zero_stage));
  plan.stages[1].blocks = {block({4, 6}, 2, {{0, 4}})};
  plan.stages[1].blocks[0].shards = {{"vocabulary", {{0, 57}, {57, 257}}},
                                     {"columns", {{0, 200}, {200, 256}}}};
  for (int zero_stage = 0; zero_stage <= 3; ++zero_stage) check(reference, with(plan, zero_stage));
}

TEST_CASE("blocks in stages of several chunks", "[np4]") {
  for (const char* run : {"untied", "tied"}) {
    const Reference reference(run);
    for (const char* schedule : {"interleaved-1f1b", "zeropp", "zb-v", "breadth-first"}) {
      Plan plan = reference.plan(2, 2, 1, 2, schedule, 2);
      INFO(run << " " << schedule);
      for (Stage& stage : plan.stages) {
        stage.blocks = {block({stage.layers[1].begin, stage.layers[1].begin + 1}, 2, {{0, 2}})};
      }
      check(reference, plan);
      plan.stages[0].blocks.push_back(block(embedding, 2, {{0, 2}}));
      check(reference, with(plan, 3, Recompute::selective));
      check(reference, with(plan, 2));
    }
  }
}

TEST_CASE("chunks that follow one another on a stage and are divided differently", "[np4]") {
  for (const char* run : {"untied", "tied"}) {
    const Reference reference(run);
    for (const char* schedule : {"interleaved-1f1b", "zeropp", "breadth-first"}) {
      INFO(run << " " << schedule);
      Plan plan = reference.plan(1, 4, 1, 4, schedule, 3);  // chunks of two layers
      plan.stages[0].blocks = {block({2, 4}, 2, {{0, 1}, {1, 4}}), block(output, 4, {{0, 4}})};
      check(reference, plan);
      check(reference, with(plan, 1));
      check(reference, with(plan, 3, Recompute::full));
    }
    Plan turning = reference.plan(2, 2, 1, 2, "zb-v", 2);
    turning.stages[1].blocks = {block(turning.stages[1].layers[1], 2, {{0, 2}})};
    check(reference, turning);
  }
}
