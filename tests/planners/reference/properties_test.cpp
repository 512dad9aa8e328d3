// What holds of every planner's plan, on random instances.

#include <algorithm>
#include <map>

#include "planners/reference/check_predicted.hpp"
#include "planners/reference/run_planner.hpp"
#include "support/catch.hpp"

namespace pptrain::reference {
namespace {

constexpr int num_instances = 2000;

void check_reads_back(const Plan& plan) {
  const std::string text = write_plan(plan);
  const Plan read = parse_plan(text, "written");
  REQUIRE(write_plan(read) == text);
  REQUIRE(read.predicted->iteration_seconds == plan.predicted->iteration_seconds);
  REQUIRE(read.predicted->estimate_seconds == plan.predicted->estimate_seconds);
  REQUIRE(read.predicted->estimates == plan.predicted->estimates);
  REQUIRE(read.predicted->lower_bound_seconds == plan.predicted->lower_bound_seconds);
  REQUIRE(read.predicted->bubble_fraction == plan.predicted->bubble_fraction);
  REQUIRE(read.predicted->peak_bytes == plan.predicted->peak_bytes);
  REQUIRE(read.search_seconds == plan.search_seconds);
  REQUIRE(read.alternatives.size() == plan.alternatives.size());
  for (std::size_t a = 0; a < read.alternatives.size(); ++a) {
    REQUIRE(read.alternatives[a].iteration_seconds == plan.alternatives[a].iteration_seconds);
  }
}

/// `data-parallel` and `megatron` always stand beside the plan; what does not fit says why.
void check_alternatives(const Plan& plan) {
  std::map<std::string, const Alternative*> by_name;
  for (const Alternative& other : plan.alternatives) {
    by_name[other.planner] = &other;
    REQUIRE(other.feasible == other.iteration_seconds.has_value());
    if (!other.feasible) REQUIRE_FALSE(other.why_not.empty());
  }
  for (const char* name : {"data-parallel", "megatron"}) {
    if (plan.planner != name) REQUIRE(by_name.count(name) == 1);
  }
}

/// What a plan is to hold it holds whatever the search may cost.
Restrictions quick() {
  Restrictions restrictions;
  restrictions.effort = Effort::quick;
  return restrictions;
}

/// The best time of each planner.
using Times = std::map<std::string, Plan>;

Times check_each(const RandomInstance& instance) {
  Times times;
  for (const auto& planner : planners()) {
    CAPTURE(planner->name());
    const Run run = run_planner(planner->name(), instance, quick());
    CAPTURE(run.message);
    if (run.ending == Ending::refused) REQUIRE(planner->name() == "exhaustive");
    if (run.ending == Ending::infeasible) REQUIRE_FALSE(run.message.empty());
    if (!run.plan) continue;
    CAPTURE(write_plan(*run.plan));
    REQUIRE(run.plan->planner == planner->name());
    validate_plan(*run.plan, instance.profile.num_layers(), instance.cluster.num_devices(), "test");
    check_predicted(instance, *run.plan);
    check_reads_back(*run.plan);
    check_alternatives(*run.plan);
    times[planner->name()] = *run.plan;
  }
  return times;
}

TEST_CASE("every plan is valid, fits, and is predicted as defined; auto wins; bounds are below",
          "[properties]") {
  std::map<std::string, int> found;
  for (int seed = 0; seed < num_instances; ++seed) {
    CAPTURE(seed);
    const RandomInstance instance = random_instance(seed);
    const Times times = check_each(instance);
    for (const auto& [name, plan] : times) {
      CAPTURE(name, write_plan(plan));
      ++found[name];
      REQUIRE(times.count("auto") == 1);
      const Plan& best = times.at("auto");
      REQUIRE(best.predicted->iteration_seconds <=
              plan.predicted->iteration_seconds * (1.0 + 1e-12));
      for (const auto& [other, other_plan] : times) {
        const double bound = other_plan.predicted->lower_bound_seconds * (1.0 - 1e-12);
        REQUIRE(bound <= plan.predicted->iteration_seconds);
        REQUIRE(bound <= plan.predicted->estimates.at("amp"));
      }
      if (times.count("exhaustive") == 1 && in_exhaustive_space(plan, instance.cluster)) {
        REQUIRE(times.at("exhaustive").predicted->estimates.at("amp") <=
                plan.predicted->estimates.at("amp") * (1.0 + 1e-12));
      }
    }
  }
  for (const auto& planner : planners()) {
    CAPTURE(planner->name());
    CHECK(found[planner->name()] > num_instances / 4);
  }
}

TEST_CASE("all gives the best plan with what every other planner finds by itself", "[properties]") {
  for (int seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const RandomInstance instance = random_instance(seed);
    const Run all = run_planner("all", instance, quick());
    const Times times = check_each(instance);
    REQUIRE(all.plan.has_value() == !times.empty());
    if (!all.plan) continue;
    REQUIRE(equal(all.plan->predicted->iteration_seconds,
                  times.at("auto").predicted->iteration_seconds));
    std::map<std::string, std::optional<double>> others;
    for (const Alternative& other : all.plan->alternatives)
      others[other.planner] = other.iteration_seconds;
    for (const auto& planner : planners()) {
      const std::string name = planner->name();
      if (name == all.plan->planner) continue;
      CAPTURE(name);
      REQUIRE(others.count(name) == 1);
      REQUIRE(others[name].has_value() == (times.count(name) == 1));
      if (others[name]) REQUIRE(equal(*others[name], times.at(name).predicted->iteration_seconds));
    }
  }
}

}  // namespace
}  // namespace pptrain::reference
