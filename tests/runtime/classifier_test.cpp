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
  uneven.stages[0].shards = {
      {"classes", {{0, 15}, {15, 23}}}, {"columns", {{0, 5}, {5, 12}}}, {"inputs", {{0, 4}, {4, 9}}}};
  check(uneven);
  for (int zero_stage = 1; zero_stage <= 3; ++zero_stage) {
    Plan divided = grid(1, 4, 1, 8);
    divided.stages[0].zero_stage = zero_stage;
    check(divided);
  }
}
