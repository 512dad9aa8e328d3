#include "report/reduce.hpp"

#include <cmath>
#include <limits>
#include <numeric>

#include "support/catch.hpp"

namespace pptrain {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST_CASE("few rows are kept as they are", "[report]") {
  CHECK(rows_per_point(0, 1000) == 1);
  CHECK(rows_per_point(1000, 1000) == 1);
  const std::vector<double> rows = {3.0, 1.0, 2.0};
  const ReducedSeries reduced = reduce(rows, 1);
  CHECK(reduced.mean == rows);
  CHECK(reduced.low == rows);
  CHECK(reduced.high == rows);
}

TEST_CASE("a point has the mean and the extremes of its rows", "[report]") {
  CHECK(rows_per_point(1001, 1000) == 2);
  CHECK(rows_per_point(10000, 1000) == 10);
  const ReducedSeries reduced = reduce({1.0, 3.0, nan, 5.0, nan, nan, 7.0}, 2);
  REQUIRE(reduced.mean.size() == 4);
  CHECK(reduced.mean[0] == 2.0);
  CHECK(reduced.low[0] == 1.0);
  CHECK(reduced.high[0] == 3.0);
  CHECK(reduced.mean[1] == 5.0);
  CHECK(std::isnan(reduced.mean[2]));
  CHECK(std::isnan(reduced.low[2]));
  CHECK(reduced.mean[3] == 7.0);
}

TEST_CASE("a point stands at the last of its rows", "[report]") {
  CHECK(last_of_points(std::vector<int>{1, 2, 3, 4, 5}, 2) == std::vector<int>{2, 4, 5});
  CHECK(last_of_points(std::vector<int>{1, 2}, 1) == std::vector<int>{1, 2});
  CHECK(last_of_points(std::vector<int>{}, 3).empty());
}

}  // namespace
}  // namespace pptrain
