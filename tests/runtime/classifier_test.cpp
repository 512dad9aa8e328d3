// Training the classifier: one rank against a plain version in double, every division against that.
#include "classifier.hpp"

#include "reference.hpp"
#include "support/catch.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

constexpr double tolerance = 5e-6;

Plan grid(int pipeline, int data, int tensor, std::int64_t micro_batch_size) {
  return uniform_plan(even_division(4, pipeline), data, tensor, 16, micro_batch_size, "1f1b");
}

void check(const Plan& plan, const ClassifierJob& job = {}) {
  static const ClassifierJob usual;
  static const ClassifierCurve expected = PlainClassifier(usual).train();
  const ClassifierCurve curve = train_classifier(job, plan);
  INFO(plan.shape());
  CHECK(largest_difference(curve.losses, expected.losses) < tolerance);
  CHECK(largest_difference(curve.grad_norms, expected.grad_norms) < tolerance);
  CHECK(std::abs(curve.evaluation - expected.evaluation) < tolerance);
}

}  // namespace

TEST_CASE("a classifier learns as a plain version in double does", "[np1]") {
  check(grid(1, 1, 1, 16));
  check(grid(1, 1, 1, 4));
  for (const Recompute recompute : {Recompute::selective, Recompute::full}) {
    Plan plan = grid(1, 1, 1, 8);
    plan.stages[0].recompute = recompute;
    check(plan);
  }
}

TEST_CASE("a classifier learns in bf16 nearly as in fp32", "[np1]") {
  ClassifierJob job;
  const ClassifierCurve exact = train_classifier(job, grid(1, 1, 1, 16));
  job.config.training.precision = Precision::bf16;
  const ClassifierCurve rounded = train_classifier(job, grid(1, 1, 1, 16));
  const double difference = largest_difference(exact.losses, rounded.losses);
  CHECK(difference < 0.02);
  CHECK(difference > 0.0);
}

TEST_CASE("a classifier learns alike on every grid of four", "[np4]") {
  check(grid(4, 1, 1, 4));
  check(grid(2, 2, 1, 8));
  check(grid(2, 1, 2, 8));
  check(grid(1, 4, 1, 8));
  check(grid(1, 2, 2, 8));
  check(grid(1, 1, 4, 8));
  Plan uneven = grid(1, 2, 2, 8);
  uneven.stages[0].samples = {{0, 5}, {5, 8}};
  uneven.stages[0].shards = {{"classes", {{0, 15}, {15, 23}}},
                             {"columns", {{0, 5}, {5, 12}}},
                             {"inputs", {{0, 4}, {4, 9}}}};
  check(uneven);
  for (int zero_stage = 1; zero_stage <= 3; ++zero_stage) {
    Plan divided = grid(1, 4, 1, 8);
    divided.stages[0].zero_stage = zero_stage;
    check(divided);
  }
}

namespace {

/// Features on four replicas, the classifier divided over the same devices.
Plan hybrid(TensorPattern pattern) {
  Plan plan = grid(1, 4, 1, 8);
  plan.stages[0].blocks = {{{3, 4}, 1, 4, pattern, {{0, 8}}, {}}};
  return plan;
}

}  // namespace

TEST_CASE("replicated features and a classifier divided over the same devices", "[np4]") {
  for (const TensorPattern pattern :
       {TensorPattern::sp1, TensorPattern::sp2, TensorPattern::megatron}) {
    INFO(pattern_names().name_of(pattern));
    check(hybrid(pattern));
    Plan uneven = hybrid(pattern);
    uneven.stages[0].samples = {{0, 3}, {3, 4}, {4, 7}, {7, 8}};
    uneven.stages[0].blocks[0].shards = {{"classes", {{0, 3}, {3, 10}, {10, 11}, {11, 23}}},
                                         {"columns", {{0, 5}, {5, 6}, {6, 8}, {8, 12}}}};
    check(uneven);
  }
}

TEST_CASE("blocks anywhere in a stage, with ZeRO and recomputation", "[np4]") {
  for (const TensorPattern pattern :
       {TensorPattern::sp1, TensorPattern::sp2, TensorPattern::megatron}) {
    INFO(pattern_names().name_of(pattern));
    Plan plan = grid(1, 4, 1, 8);
    plan.stages[0].samples = {{0, 1}, {1, 4}, {4, 6}, {6, 8}};
    plan.stages[0].blocks = {{{0, 2}, 2, 2, pattern, {{0, 5}, {5, 8}}, {}}};
    for (int zero_stage = 0; zero_stage <= 3; ++zero_stage) {
      plan.stages[0].zero_stage = zero_stage;
      plan.stages[0].recompute = zero_stage % 2 == 0 ? Recompute::none : Recompute::full;
      check(plan);
    }
  }
  Plan all = grid(1, 2, 2, 8);
  all.stages[0].blocks = {
      {{0, 1}, 4, 1, TensorPattern::replicate, {{0, 2}, {2, 4}, {4, 5}, {5, 8}}, {}},
      {{2, 3}, 1, 4, TensorPattern::sp2, {{0, 8}}, {}},
      {{3, 4}, 1, 4, TensorPattern::sp1, {{0, 8}}, {}}};
  check(all);
}

TEST_CASE("a pipeline between stages with blocks", "[np4]") {
  for (const char* schedule : {"gpipe", "1f1b", "zb-h1"}) {
    INFO(schedule);
    Plan plan = grid(2, 2, 1, 4);
    plan.schedule.name = schedule;
    plan.stages[0].samples = {{0, 3}, {3, 4}};
    plan.stages[0].blocks = {{{1, 2}, 1, 2, TensorPattern::sp2, {{0, 4}}, {}}};
    plan.stages[1].blocks = {
        {{3, 4}, 1, 2, TensorPattern::sp1, {{0, 4}}, {{"classes", {{0, 20}, {20, 23}}}}}};
    check(plan);
    plan.stages[0].blocks = {{{0, 1}, 1, 2, TensorPattern::sp1, {{0, 4}}, {}}};
    plan.stages[1].blocks = {{{2, 3}, 1, 2, TensorPattern::sp2, {{0, 4}}, {}}};
    check(plan);
  }
}
