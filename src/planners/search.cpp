#include "planners/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/error.hpp"
#include "base/names.hpp"
#include "planners/auto.hpp"
#include "planners/exhaustive.hpp"
#include "planners/uniform_planners.hpp"

namespace pptrain {
namespace {

std::vector<std::unique_ptr<Planner>> make_planners() {
  std::vector<std::unique_ptr<Planner>> all;
  all.push_back(std::make_unique<AutoPlanner>());
  all.push_back(std::make_unique<AmpPlanner>());
  all.push_back(std::make_unique<MegatronPlanner>());
  all.push_back(std::make_unique<DataParallelPlanner>());
  all.push_back(std::make_unique<ExhaustivePlanner>());
  return all;
}

const Planner& planner_called(const std::string& name, const std::string& source) {
  for (const auto& planner : planners()) {
    if (planner->name() == name) return *planner;
  }
  const std::string nearest = nearest_name(name, planner_names());
  throw_bad_input({source, fmt::format("unknown planner \"{}\"", name), "this version has " + join(planner_names()),
                   nearest.empty() ? "" : fmt::format("did you mean \"{}\"?", nearest)});
}

/// The planners that are shown beside the chosen one.
std::vector<std::string> others_beside(const std::string& name) {
  std::vector<std::string> others = {"data-parallel", "megatron"};
  if (name == "auto") others.emplace_back("amp");
  if (name != "all") return others;
  for (const auto& planner : planners()) {
    const std::string other = planner->name();
    if (other != "auto" && std::find(others.begin(), others.end(), other) == others.end()) others.push_back(other);
  }
  return others;
}

Alternative alternative_of(const std::string& planner, const Outcome& outcome) {
  if (!outcome.plan) return {planner, std::nullopt, false, outcome.why_not};
  return {planner, outcome.plan->predicted->iteration_seconds, true, ""};
}

}  // namespace

const std::vector<std::unique_ptr<Planner>>& planners() {
  static const std::vector<std::unique_ptr<Planner>> all = make_planners();
  return all;
}

const std::vector<std::string>& planner_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& planner : planners()) all.push_back(planner->name());
    all.emplace_back("all");
    return all;
  }();
  return names;
}

Plan finished_plan(const SearchSpace& space, Plan plan, const std::string& planner) {
  plan.planner = planner;
  plan.model = space.instance.profile.model;
  plan.cluster = space.instance.cluster.name;
  plan.predicted = predict(space.instance, plan, 0.0);
  plan.predicted->estimate_seconds = plan.predicted->estimates.at(planner == "dapple" ? "dapple" : "amp");
  return plan;
}

SearchResult search_plan(const std::string& name, const Instance& instance, const Restrictions& restrictions,
                         const std::string& source, Stop stop) {
  const auto start = std::chrono::steady_clock::now();
  const Planner& planner = planner_called(name == "all" ? "auto" : name, source);
  check_instance(instance, source);
  check_restrictions(instance, restrictions, source);
  const SearchSpace space = {instance, restrictions, restrictions.schedule == "gpipe" ? "gpipe" : "1f1b", stop};
  Outcome outcome = planner.search(space);
  SearchResult result = {std::move(outcome.plan), outcome.why_not, outcome.complete, std::move(outcome.grids)};
  const double bound = lower_bound_seconds(instance);
  for (GridCandidate& grid : result.grids) {
    if (grid.plan) grid.plan->predicted->lower_bound_seconds = bound;
  }
  if (!result.plan) return result;
  result.plan->predicted->lower_bound_seconds = bound;
  for (const std::string& other : others_beside(name)) {
    if (other == planner.name()) {
      result.plan->alternatives.push_back({other, result.plan->predicted->iteration_seconds, true, ""});
      continue;
    }
    const Outcome beside = planner_called(other, source).search(space);
    outcome.num_examined += beside.num_examined;
    result.plan->alternatives.push_back(alternative_of(other, beside));
  }
  result.plan->search_candidates = outcome.num_examined;
  result.plan->search_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace pptrain
