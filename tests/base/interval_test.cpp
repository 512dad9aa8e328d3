#include "base/interval.hpp"

#include "support/catch.hpp"

using namespace pptrain;

TEST_CASE("intersection of two intervals") {
  CHECK(intersect(Interval{0, 4}, Interval{2, 6}) == Interval{2, 4});
  CHECK(intersect(Interval{0, 4}, Interval{4, 6}).empty());
  CHECK(intersect(Interval{5, 9}, Interval{0, 2}).empty());
}

TEST_CASE("a list of intervals contains what one of them does") {
  const std::vector<Interval> some = {{0, 2}, {5, 6}};
  CHECK(contains(some, 1));
  CHECK(contains(some, 5));
  CHECK_FALSE(contains(some, 2));
  CHECK_FALSE(contains(some, 6));
  CHECK_FALSE(contains({}, 0));
}

TEST_CASE("overlaps of two divisions cover the axis once") {
  const std::vector<Interval> three = {{0, 3}, {3, 4}, {4, 8}};
  const std::vector<Interval> two = {{0, 5}, {5, 8}};
  const std::vector<Overlap> expected = {
      {0, 0, {0, 3}}, {1, 0, {3, 4}}, {2, 0, {4, 5}}, {2, 1, {5, 8}}};
  CHECK(intersect(three, two) == expected);
}

TEST_CASE("even parts differ by at most one and the first ones are larger") {
  CHECK(even_division(7, 3) == std::vector<Interval>{{0, 3}, {3, 5}, {5, 7}});
  CHECK(even_division(2, 3) == std::vector<Interval>{{0, 1}, {1, 2}, {2, 2}});
  CHECK(divides(even_division(1000003, 7), 1000003));
}

TEST_CASE("a division has no gap and no overlap") {
  CHECK_FALSE(divides({{0, 3}, {4, 8}}, 8));
  CHECK_FALSE(divides({{0, 3}, {2, 8}}, 8));
  CHECK_FALSE(divides({{0, 3}}, 8));
  CHECK(divides({}, 0));
}
