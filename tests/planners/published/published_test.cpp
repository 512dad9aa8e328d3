#include "planners/published/published.hpp"

#include <algorithm>

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

/// A planner that finds nothing.
class MadePlanner : public Planner {
 public:
  MadePlanner(std::string name, bool is_asked) : name_(std::move(name)), is_asked_(is_asked) {}
  std::string name() const override { return name_; }
  std::string description() const override { return "finds nothing"; }
  bool is_asked_by_auto() const override { return is_asked_; }
  Outcome search(const SearchSpace& /*space*/) const override { return {}; }

 private:
  std::string name_;
  bool is_asked_;
};

TEST_CASE("auto asks the planners that say so, AMP's first", "[planners]") {
  std::vector<std::unique_ptr<Planner>> made;
  made.push_back(std::make_unique<MadePlanner>("quick", true));
  made.push_back(std::make_unique<MadePlanner>("slow", false));
  made.push_back(std::make_unique<MadePlanner>("amp", true));
  CHECK(asked_by_auto(made) == std::vector<std::string>{"amp", "quick"});
  const std::vector<std::string> asked = asked_by_auto(published_planners());
  CHECK(asked.size() + 1 == published_planners().size());
  CHECK(std::count(asked.begin(), asked.end(), "exhaustive") == 0);
}

}  // namespace
}  // namespace pptrain
