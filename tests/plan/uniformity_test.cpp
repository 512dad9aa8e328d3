#include "plan/uniformity.hpp"

#include "support/catch.hpp"

namespace pptrain {
namespace {

Plan grid() { return uniform_plan({{0, 3}, {3, 6}}, 2, 2, 8, 4, std::string("1f1b")); }

TEST_CASE("a uniform grid is one until a stage differs or divides something unevenly", "[plan]") {
  CHECK(is_even_grid(grid()));
  Plan plan = grid();
  plan.stages[1].recompute = Recompute::full;
  CHECK_FALSE(is_even_grid(plan));
  CHECK(stage_difference(plan.stages[0], plan.stages[1]) == "recompute \"none\" and \"full\"");
  plan = grid();
  plan.stages[1].samples = {{0, 3}, {3, 4}};
  CHECK_FALSE(is_even_grid(plan));
  CHECK(uneven_part(plan.stages[1]) == "unequal numbers of samples on its replicas");
  plan = grid();
  for (Stage& stage : plan.stages) stage.shards["heads"] = {{0, 3}, {3, 4}};
  CHECK(uneven_part(plan.stages[0]) == "unequal shares of heads on its tensor-parallel members");
  plan = grid();
  plan.stages[0].zero_stage = 1;
  plan.stages[0].zero_slices = {{0, 1}, {1, 3}};
  CHECK(uneven_part(plan.stages[0]) == "unequal slices of the state on its replicas");
  plan = grid();
  plan.stages[0].blocks.push_back({{1, 2}, 1, 4, TensorPattern::megatron, {{0, 4}}, {}});
  CHECK(uneven_part(plan.stages[0]) == "layers 1 to 1 divided in another way than its others");
}

TEST_CASE("a ZeRO stage counts where there are replicas, and its runs where there is one",
          "[plan]") {
  Plan plan = uniform_plan({{0, 3}, {3, 6}}, 1, 2, 8, 4, std::string("1f1b"));
  plan.stages[1].zero_stage = 1;
  CHECK(is_even_grid(plan));
  plan = grid();
  for (Stage& stage : plan.stages) stage.zero_stage = 1;
  CHECK(is_even_grid(plan));
  plan.stages[1].zero_groups = {{0, 1}, {1, 2}};
  CHECK(stage_difference(plan.stages[0], plan.stages[1]) ==
        "other runs of replicas that divide their state");
}

TEST_CASE("experts that replicas divide evenly are part of a uniform grid", "[plan]") {
  Plan plan = uniform_plan({{0, 3}, {3, 6}}, 2, 1, 8, 4, std::string("1f1b"));
  const std::vector<Interval> halves = {{0, 2}, {2, 4}};
  plan.stages[0].blocks.push_back(
      {{1, 2}, 1, 2, TensorPattern::all_to_all, halves, {{"experts", {{0, 4}, {4, 8}}}}});
  CHECK(is_even_grid(plan));
  plan.stages[0].blocks[0].shards["experts"] = {{0, 3}, {3, 8}};
  CHECK_FALSE(is_even_grid(plan));
}

}  // namespace
}  // namespace pptrain
