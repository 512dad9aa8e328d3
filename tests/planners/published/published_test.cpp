#include "planners/published/published.hpp"

#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("planners are called as the list that jobs are checked against names them",
          "[planners]") {
  std::vector<std::string> named = {"auto", "uniform"};
  for (const auto& planner : published_planners()) {
    named.push_back(planner->name());
    CHECK(&published_planner(planner->name()) == planner.get());
    CHECK_FALSE(planner->description().empty());
  }
  named.emplace_back("all");
  CHECK(named == planner_names());
}

}  // namespace
}  // namespace pptrain
