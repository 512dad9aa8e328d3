// Slices move data and change no number: losses and gradient norms are those of whole copies, bit
// by bit.
#include "reference.hpp"
#include "schedule/schedule.hpp"
#include "shaped_plans.hpp"
#include "support/catch.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

int num_ranks() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

/// `nodes`: of each device; empty: all are on one.
void check_same(const std::string& run, const Plan& plan, const std::vector<int>& nodes = {}) {
  INFO(run << "\n" << write_plan(plan));
  const Reference reference(run);
  validate_plan(plan, static_cast<int>(reference.config.model.layers) + 2, num_ranks(),
                "made by the test");
  SessionOptions whole;
  whole.nodes = nodes;
  SessionOptions slices = whole;
  slices.forms.cuts.assign(chunk_places(plan).size() - 1,
                           {TransferForm::slices, TransferForm::slices});
  slices.forms.ties = {TransferForm::slices};
  const Curve whole_curve = train_reference(MPI_COMM_WORLD, reference, plan, 4, whole);
  const Curve curve = train_reference(MPI_COMM_WORLD, reference, plan, 4, slices);
  CHECK(curve.losses == whole_curve.losses);
  CHECK(curve.grad_norms == whole_curve.grad_norms);
  CHECK(std::abs(curve.losses.back() - reference.losses[3]) <= 5e-6);
}

}  // namespace

TEST_CASE("slices give the same numbers as whole copies", "[np4]") {
  for (const std::string run : {"untied", "tied"}) {
    check_same(run, shaped_plan({{{3}, {4}, 2}, {{3}, {4}, 2}}, 8));              // degree 2 -> 2
    check_same(run, shaped_plan({{{2}, {2}}, {{4}, {2}, 2}}, 8));                 // 1 -> 2
    check_same(run, shaped_plan({{{2}, {4}}, {{4}, {4}, 3}}, 8, "zb-h1"));        // 1 -> 3
    check_same(run, shaped_plan({{{3}, {3, 1}}, {{3}, {4}, 2}}, 8, "dapple-b"));  // uneven replicas
                                                                                  // -> 2
    check_same(run, shaped_plan({{{3}, {3, 1}, 1, {}, 2}, {{3}, {2, 2}, 1, {}, 3}}, 8));
  }
  check_same("tied", shaped_plan({{{4}, {4}}, {{2}, {2, 1, 1}, 1, {}, 1}}, 8));
}

// The replicas of a node, or of a ZeRO group, sum gradients first; what all replicas need they
// gather together.
TEST_CASE("replicas of several nodes or groups gather slices of a tied embedding", "[np4]") {
  check_same("tied", shaped_plan({{{4}, {4}}, {{2}, {2, 1, 1}}}, 8), {0, 0, 0, 1});
  check_same("tied", shaped_plan({{{3}, {2, 1, 1}}, {{3}, {4}}}, 8), {0, 1, 1, 1});
  Plan groups = shaped_plan({{{4}, {4}}, {{2}, {2, 1, 1}, 1, {}, 1}}, 8);
  groups.stages[1].zero_groups = {{0, 2}, {2, 3}};
  check_same("tied", groups);
}

TEST_CASE("slices of larger plans give the same numbers as whole copies", "[np8]") {
  for (const std::string run : {"untied_sched", "tied"}) {
    check_same(run, shaped_plan({{{2}, {1, 1}, 2}, {{4}, {1, 1}, 2}}, 8));
    check_same(run, shaped_plan({{{3}, {3, 1}, 2}, {{3}, {4}, 4}}, 8));
  }
  RandomShapes shapes(5, DrawnBlocks::none);
  for (int i = 0; i < 3; ++i) {
    const Plan plan = shapes.plan(num_ranks());
    check_same("tied", plan, shapes.machine(plan, num_ranks()).nodes);
  }
}
