#include "report/expert_shares.hpp"

#include <cmath>

#include "io/hdf5/series.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE(
    "shares of experts are those of the rows asked for, and a step that counted none is left out",
    "[report]") {
  MetricsHistory history;
  CHECK(expert_shares(history, 0).fullest.empty());
  history.experts = {{"a", "b"}, 2};
  const std::int64_t none = missing_integer;
  history.integers["experts/rows"] = {6, 2, 4, 4, none, none, none, none, 1, 3, 0, 8};
  const ExpertShares all = expert_shares(history, 0);
  REQUIRE(all.fullest.size() == 3);
  CHECK((all.fullest[0] == 1.5 && std::isnan(all.fullest[1]) && all.fullest[2] == 2.0));
  CHECK(all.of_layers == std::vector<std::vector<double>>{{7.0 / 12.0, 5.0 / 12.0}, {0.25, 0.75}});
  CHECK(expert_shares(history, 1).of_layers ==
        std::vector<std::vector<double>>{{0.25, 0.75}, {0.0, 1.0}});
}

}  // namespace
}  // namespace pptrain
