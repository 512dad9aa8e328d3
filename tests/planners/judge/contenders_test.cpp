#include "planners/judge/contenders.hpp"

#include "cost/instances.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

Profile six_layers() {
  Profile profile;
  for (int l = 0; l < 6; ++l) profile.layers.push_back(layer(fmt::format("{}", l), 1, 1, 1));
  return profile;
}

TEST_CASE("plans that differ from a faster one in their layers alone are tried last",
          "[planners]") {
  const Profile profile = six_layers();
  const Cluster cluster = nodes_of(1, 4);
  const Instance instance = {profile, cluster, 8};
  const auto predicted = [&instance](Plan plan) {
    plan.predicted = predict(instance, plan, 0.0);
    return plan;
  };
  const auto two_stages = [&](std::int64_t cut) {
    return predicted(uniform_plan({{0, cut}, {cut, 6}}, 2, 1, 8, 4, "1f1b"));
  };
  SearchResult result;
  result.plan = two_stages(3);
  // By their simulation: the first of them takes longer than the plan, and the second, all on one
  // device, longer still.
  result.others = {two_stages(2), predicted(uniform_plan({{0, 6}}, 1, 1, 8, 4, "1f1b")),
                   two_stages(3)};
  const auto shapes = [&](int count) {
    std::vector<std::string> found;
    for (const Plan& plan : contenders(result, instance, count)) found.push_back(plan.shape());
    return found;
  };
  CHECK(shapes(1) == std::vector<std::string>{"PP 2 x DP 2 x TP 1"});
  CHECK(shapes(2) == std::vector<std::string>{"PP 2 x DP 2 x TP 1", "PP 1 x DP 1 x TP 1"});
  CHECK(shapes(9) ==
        std::vector<std::string>{"PP 2 x DP 2 x TP 1", "PP 1 x DP 1 x TP 1", "PP 2 x DP 2 x TP 1"});
}

}  // namespace
}  // namespace pptrain
