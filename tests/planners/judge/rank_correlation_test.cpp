#include "planners/judge/rank_correlation.hpp"

#include <cmath>

#include "planners/large_instances.hpp"
#include "planners/search.hpp"
#include "schedule/schedule.hpp"
#include "simulate/simulate.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("Spearman's coefficient compares orders, not values", "[planners]") {
  CHECK(rank_correlation({1.0, 2.0, 3.0, 4.0}, {1.0, 10.0, 11.0, 1000.0}) == Approx(1.0));
  CHECK(rank_correlation({1.0, 2.0, 3.0, 4.0}, {9.0, 8.0, 7.0, -6.0}) == Approx(-1.0));
  // 1 - 6 sum d^2 / (n (n^2 - 1)), d the differences of the ranks: 1, 1, 0, 1, 1 and 2, 1, 1, 1, 1.
  CHECK(rank_correlation({1.0, 2.0, 3.0, 4.0, 5.0}, {20.0, 10.0, 30.0, 60.0, 35.0}) ==
        Approx(1.0 - 24.0 / 120.0));
  CHECK(rank_correlation({1.0, 2.0, 3.0, 4.0, 5.0}, {30.0, 10.0, 20.0, 60.0, 35.0}) ==
        Approx(1.0 - 48.0 / 120.0));
}

TEST_CASE("equal values share the mean of their ranks", "[planners]") {
  // Ranks 1, 2.5, 2.5, 4 and 1, 3, 2, 4: covariance 4.5, variances 4.5 and 5.
  CHECK(rank_correlation({1.0, 2.0, 2.0, 3.0}, {1.0, 3.0, 2.0, 4.0}) ==
        Approx(4.5 / std::sqrt(4.5 * 5.0)));
  CHECK_FALSE(rank_correlation({1.0, 1.0}, {1.0, 2.0}).has_value());
  CHECK_FALSE(rank_correlation({}, {}).has_value());
}

TEST_CASE("closed forms are compared with the simulator over the plans of all planners",
          "[planners]") {
  const Profile profile = blocks(8, 0.3);
  const Cluster cluster = mixed_nodes(2, 4);
  const Instance instance = {profile, cluster, 16};
  const RankCorrelations correlations = correlate_with_simulator({instance, Restrictions()});
  CHECK(correlations.num_plans > 100);
  REQUIRE(correlations.forms.size() == 3);
  for (const auto& [form, coefficient] : correlations.forms) {
    CAPTURE(form);
    CHECK(std::abs(coefficient) <= 1.0);
  }
  CHECK(correlations.forms.at("amp") > 0.8);
  CHECK(correlations.forms.at("dapple") > 0.8);
}

TEST_CASE("PipeDream's measure is the slowest stage or cut, for every micro-batch", "[planners]") {
  const Profile profile = blocks(4, 0.0);
  const Cluster cluster = mixed_nodes(2, 2);
  const Instance instance = {profile, cluster, 8};
  const Plan plan = uniform_plan({{0, 1}, {1, 4}}, 2, 1, 8, 4, "1f1b");
  const AmpTerms terms = amp_terms(instance, plan);
  const double slowest =
      std::max({terms.stage_seconds[0], terms.stage_seconds[1], terms.gradient_seconds[0],
                terms.gradient_seconds[1], terms.cut_seconds[0]});
  CHECK(pipedream_seconds(instance, plan) == Approx(2.0 * slowest));
}

}  // namespace
}  // namespace pptrain
