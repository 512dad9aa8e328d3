#include "model/axes.hpp"

#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("axes have the names of plans, in one order", "[model]") {
  CHECK(shard_axis_names() ==
        std::vector<std::string>{"heads", "columns", "vocabulary", "classes", "inputs", "experts"});
  REQUIRE(shard_axes().size() == shard_axis_names().size());
  for (std::size_t i = 0; i < shard_axes().size(); ++i)
    CHECK(to_string(shard_axes()[i]) == shard_axis_names()[i]);
  CHECK(to_string(ShardAxis::none) == "none");
}

TEST_CASE("a part of an axis has its units of each group", "[model]") {
  // Queries, keys and values of heads of 16 columns.
  const AxisDivision heads = {ShardAxis::heads, 3, 16};
  CHECK(heads.units({1, 3}) == Interval{1, 3});
  CHECK(heads.size_of({1, 3}) == 3 * 2 * 16);
  CHECK(heads.size_of({2, 2}) == 0);
}

TEST_CASE("positions that share a unit all have it", "[model]") {
  // A key head of 64 columns for four query heads.
  const AxisDivision key_heads = {ShardAxis::heads, 1, 64, 4};
  CHECK(key_heads.units({0, 4}) == Interval{0, 1});
  CHECK(key_heads.units({2, 4}) == Interval{0, 1});
  CHECK(key_heads.units({3, 5}) == Interval{0, 2});
  CHECK(key_heads.units({4, 8}) == Interval{1, 2});
  CHECK(key_heads.size_of({0, 2}) == 64);
  CHECK(key_heads.size_of({3, 5}) == 2 * 64);
}

}  // namespace
}  // namespace pptrain
