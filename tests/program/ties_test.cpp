#include "program/ties.hpp"

#include "support/catch.hpp"

namespace pptrain {
namespace {

/// A table of ten rows that the first and the last of six layers read, and a parameter of every
/// second layer that nobody divides.
const std::vector<Tie> table_and_bias = {{"table", {0, 5}, "vocabulary", 10, 4.0},
                                         {"bias", {1, 3, 5}, "", 32, 4.0}};

TieEnd end_of(int tie, int stage, int part, std::int64_t layer) {
  return {tie, StageId(stage), part, layer};
}

TEST_CASE("every part of a plan that reads a tied parameter is an end, tie by tie", "[program]") {
  const Plan plan = uniform_plan(even_division(6, 3), 1, 2, 2, 1, "1f1b");
  const std::vector<TieEnd> ends = tie_ends(plan, table_and_bias);
  CHECK(ends == std::vector<TieEnd>{end_of(0, 0, 0, 0), end_of(0, 2, 0, 5), end_of(1, 0, 0, 1),
                                    end_of(1, 1, 0, 3), end_of(1, 2, 0, 5)});
  CHECK(are_tied(ends[0], ends[1]));
  CHECK_FALSE(are_tied(ends[0], ends[0]));
  CHECK_FALSE(are_tied(ends[1], ends[4]));  // one stage, but two parameters
  CHECK(tie_ends(plan, {}).empty());
}

TEST_CASE("a parameter that one part has alone has no ends, a block is a part of its own",
          "[program]") {
  Plan plan = uniform_plan({{0, 2}, {2, 6}}, 2, 1, 2, 2, "1f1b");
  // Layers 3 and 5 are in one part: its end is at the first of them.
  CHECK(tie_ends(plan, table_and_bias) ==
        std::vector<TieEnd>{end_of(0, 0, 0, 0), end_of(0, 1, 0, 5), end_of(1, 0, 0, 1),
                            end_of(1, 1, 0, 3)});
  plan = uniform_plan({{0, 6}}, 2, 1, 2, 2, "1f1b");
  CHECK(tie_ends(plan, table_and_bias).empty());
  plan.stages[0].blocks = {{{5, 6}, 1, 2, TensorPattern::megatron, {{0, 2}}, {}}};
  CHECK(tie_ends(plan, table_and_bias) ==
        std::vector<TieEnd>{end_of(0, 0, 0, 0), end_of(0, 0, 1, 5), end_of(1, 0, 0, 1),
                            end_of(1, 0, 1, 5)});
}

TEST_CASE("members divide the rows as the mesh divides their axis, or have all", "[program]") {
  Stage mesh = uniform_plan({{0, 6}}, 2, 3, 2, 2, "1f1b").stages[0];
  const Tie& table = table_and_bias[0];
  const Tie& bias = table_and_bias[1];
  CHECK(tie_division(mesh, table) == std::vector<Interval>{{0, 4}, {4, 7}, {7, 10}});
  CHECK(tie_division(mesh, bias) == std::vector<Interval>(3, {0, 32}));
  mesh.shards["vocabulary"] = {{0, 6}, {6, 8}, {8, 10}};
  CHECK(tie_division(mesh, table) == mesh.shards["vocabulary"]);
  // The replicas of shard 1 are devices 1 and 4.
  const std::vector<EqualCopies> rows = tie_copies(mesh, table);
  REQUIRE(rows.size() == 3);
  CHECK(rows[1].interval == Interval{6, 8});
  CHECK(rows[1].devices == std::vector<DeviceId>{DeviceId(1), DeviceId(4)});
  const std::vector<EqualCopies> whole = tie_copies(mesh, bias);
  REQUIRE(whole.size() == 1);
  CHECK(whole[0].interval == Interval{0, 32});
  CHECK(whole[0].devices.size() == 6);
}

TEST_CASE("a tie knows its bytes, what a member has of them, and its layers", "[program]") {
  const Stage mesh = uniform_plan({{0, 6}}, 1, 2, 2, 2, "1f1b").stages[0];
  CHECK(table_and_bias[0].gradient_bytes() == 40.0);
  CHECK(table_and_bias[0].gradient_bytes(mesh) == 20.0);
  CHECK(table_and_bias[1].gradient_bytes(mesh) == 128.0);
  CHECK(table_and_bias[1].num_layers_in({{0, 2}, {3, 5}}) == 2);
}

}  // namespace
}  // namespace pptrain
