#include "planners/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/error.hpp"
#include "base/names.hpp"
#include "planners/ask/layer_tables.hpp"
#include "planners/ask/whole_experts.hpp"
#include "planners/describe/explain.hpp"
#include "planners/frames/auto.hpp"
#include "planners/frames/simulated_search.hpp"
#include "planners/judge/fitting_search.hpp"
#include "planners/meshes/grid.hpp"
#include "planners/published/amp/chunked_grids.hpp"
#include "planners/published/published.hpp"

namespace pptrain {
namespace {

std::vector<const Planner*> make_planners() {
  static const AutoPlanner chooser;
  std::vector<const Planner*> all = {&chooser};
  for (const auto& planner : published_planners()) all.push_back(planner.get());
  return all;
}

/// The planners that are always shown beside the chosen one.
std::vector<std::string> others_beside(const std::string& name) {
  std::vector<std::string> others = {"data-parallel", "megatron"};
  if (name != "all") return others;
  for (const auto& planner : planners()) {
    const std::string other = planner->name();
    if (!planner->is_auto() && std::find(others.begin(), others.end(), other) == others.end())
      others.push_back(other);
  }
  return others;
}

/// `auto` is left with the grids then.
void check_planner_of(const Planner& planner, const ScheduleChoice& schedule,
                      const Restrictions& restrictions, const std::string& source) {
  if (restrictions.expert && !planner.is_auto()) {
    throw_bad_input(
        {restrictions.place_of("expert", source),
         fmt::format("planner \"{}\" with expert = {}", planner.name(), *restrictions.expert),
         "it does not divide experts over replicas", "use planner \"auto\", or leave the key out"});
  }
  if (!plans_only_grids(schedule.name, restrictions) || planner.scope() == PlanScope::uniform ||
      planner.is_auto())
    return;
  if (restrictions.rule) {
    const TrainerKind& trainer = restrictions.rule->trainer();
    throw_bad_input(
        {source, fmt::format("planner \"{}\" with like = \"{}\"", planner.name(), trainer.name),
         fmt::format("it makes stages of any shape, {} runs stages that are alike", trainer.title),
         "use planner \"auto\" or \"amp\""});
  }
  if (restrictions.zero_group == ZeroGroup::node) {
    throw_bad_input({restrictions.place_of("zero_group", source),
                     fmt::format("planner \"{}\" with zero_group = \"node\"", planner.name()),
                     "it divides the state over all replicas",
                     "use planner \"auto\" or \"amp\", or zero_group = \"replicas\""});
  }
  throw_bad_input(
      {restrictions.place_of("schedule", source),
       fmt::format("planner \"{}\" with schedule \"{}\"", planner.name(), schedule.name),
       "it makes plans for 1f1b and gpipe",
       "use planner \"auto\" or \"amp\", or another schedule"});
}

/// Names under which `auto` is asked: to show every other planner beside it, and for uniform grids
/// alone.
constexpr const char* with_all = "all";
constexpr const char* uniform_grids = "uniform";

const Planner& asked_planner(const std::string& name) {
  return planner_called(name == with_all || name == uniform_grids ? "auto" : name);
}

/// The restrictions that the name of a planner means beside those that are asked for.
Restrictions restrictions_of_planner(const std::string& name, Restrictions restrictions) {
  restrictions.uniform = restrictions.uniform || name == uniform_grids;
  return restrictions;
}

/// What the planner makes under these restrictions.
PlanScope scope_of(const Planner& planner, const Restrictions& restrictions) {
  return plans_only_grids(schedule_under(restrictions).name, restrictions) ? PlanScope::uniform
                                                                           : planner.scope();
}

/// Asks the planner called `name`. One that refuses the instance is no reason to fail when another
/// one is wanted.
Beside ask(const std::string& name, const SearchSpace& asked, PlanSimulator& simulator) {
  Restrictions restrictions = as_in_papers(asked.restrictions);
  restrictions.rule.reset();  // it is shown for comparison
  const SearchSpace space = {asked.instance, restrictions, asked.schedule,
                             asked.stop,     asked.check,  asked.progress};
  space.tell_asks("comparing " + name);
  try {
    const Planner& planner = planner_called(name);
    const Search search = [&planner](const SearchSpace& searched) {
      return planner.search(searched);
    };
    Outcome outcome = only_fitting(space, simulator, search, search(space));
    return {name, std::move(outcome.plan), std::move(outcome.why_not)};
  } catch (const Error& error) {
    return {name, std::nullopt, error.what()};
  }
}

Alternative alternative_of(const Beside& beside, const Plan& chosen) {
  if (!beside.plan) return {beside.planner, std::nullopt, false, beside.why_not, {}};
  return {beside.planner,
          beside.plan->predicted->iteration_seconds,
          true,
          why_slower(chosen, *beside.plan),
          {}};
}

/// What others found: those that the search asked, then those that are always shown.
std::vector<Beside> plans_beside(const std::string& name, const SearchSpace& space,
                                 const Outcome& outcome, const Plan& chosen,
                                 PlanSimulator& simulator) {
  std::vector<Beside> all = outcome.beside;
  const auto known = [&](const std::string& other) {
    return std::any_of(all.begin(), all.end(),
                       [&](const Beside& beside) { return beside.planner == other; });
  };
  for (const std::string& other : others_beside(name)) {
    if (known(other)) continue;
    all.push_back(other == chosen.planner ? Beside{other, chosen, ""}
                                          : ask(other, space, simulator));
  }
  return all;
}

}  // namespace

void check_planner_name(const std::string& name, const std::string& source) {
  const std::vector<std::string>& known = planner_names();
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  throw_bad_input({source, fmt::format("unknown planner \"{}\"", name),
                   "this version has " + join(known),
                   did_you_mean(name, known, "name one of these")});
}

const std::vector<const Planner*>& planners() {
  static const std::vector<const Planner*> all = make_planners();
  return all;
}

const Planner& planner_called(const std::string& name) {
  for (const auto& planner : planners()) {
    if (planner->name() == name) return *planner;
  }
  PPTRAIN_ASSERT(false, "no planner {}", name);
}

const std::vector<std::string>& planner_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& planner : planners()) all.push_back(planner->name());
    all.insert(all.begin() + 1, uniform_grids);
    all.emplace_back(with_all);
    return all;
  }();
  return names;
}

namespace {

void check_layers_of(const Planner& planner, const Instance& instance, const std::string& source) {
  const std::string why_not = planner.tabulates_layers() ? why_not_tabulated(instance) : "";
  if (why_not.empty()) return;
  throw_bad_input(
      {source,
       fmt::format("planner \"{}\" with {} layers", planner.name(), instance.profile.num_layers()),
       why_not, "use planner \"auto\""});
}

}  // namespace

void check_search(const std::string& name, const Instance& instance, const Restrictions& asked,
                  const std::string& source) {
  check_planner_name(name, source);
  const Restrictions restrictions = restrictions_of_planner(name, asked);
  const Planner& planner = asked_planner(name);
  const ScheduleChoice schedule = schedule_under(restrictions);
  check_restrictions(instance, restrictions, source, scope_of(planner, restrictions));
  check_planner_of(planner, schedule, restrictions, source);
  check_layers_of(planner, instance, source);
}

SearchResult search_plan(const std::string& name, const Instance& instance,
                         const Restrictions& restricted, const std::string& source, Stop stop,
                         SearchProgress* progress) {
  const auto start = std::chrono::steady_clock::now();
  check_search(name, instance, restricted, source);
  const Restrictions asked = restrictions_of_planner(name, restricted);
  check_instance(instance, source);
  const Planner& planner = asked_planner(name);
  const bool grids = scope_of(planner, asked) == PlanScope::uniform;
  const Restrictions free = planner.is_auto() ? asked : as_in_papers(asked);
  const Restrictions restrictions = grids ? with_uneven_shares(instance, free) : free;
  const ScheduleChoice schedule = schedule_under(restrictions);
  // What is planned beside a pipeline of chunks has one chunk per stage and 1f1b.
  const bool chunks = runs_chunks(schedule.name);
  const SearchSpace space = {instance, restrictions, chunks ? "1f1b" : schedule.name,
                             stop,     nullptr,      progress};
  space.tell_asks("asking " + planner.name());
  const Search search = [&](const SearchSpace& searched) {
    if (!chunks) return planner.search(searched);
    Outcome found = search_chunked_grids(searched, schedule, planner.name());
    return planner.is_auto() ? choose_by_simulation(searched, std::move(found)) : found;
  };
  PlanSimulator simulator(instance);
  Outcome outcome = only_fitting(space, simulator, search, search(space));
  SearchResult result = {
      outcome.plan, outcome.why_not, outcome.complete, std::move(outcome.grids), {}};
  const double bound = lower_bound_seconds(instance, restrictions.recompute);
  for (GridCandidate& grid : result.grids) {
    if (grid.plan) grid.plan->predicted->lower_bound_seconds = bound;
  }
  if (!result.plan) {
    if (outcome.no_frame) check_found_none(instance, asked, source);
    if (asked.rule && result.why_not.empty())
      result.why_not = asked.rule->trainer().title + " runs none of the plans that were looked at";
    if (!outcome.complete)
      result.why_not = "the search was ended before it found one; so far: " + result.why_not;
    return result;
  }
  result.plan->predicted->lower_bound_seconds = bound;
  for (const Beside& beside : plans_beside(name, space, outcome, *result.plan, simulator)) {
    result.plan->alternatives.push_back(alternative_of(beside, *result.plan));
    if (beside.plan) result.others.push_back(*beside.plan);
  }
  if (restrictions.has_whole_experts()) {
    give_whole_experts(*result.plan, instance.profile);
    for (Plan& other : result.others) give_whole_experts(other, instance.profile);
    for (GridCandidate& grid : result.grids) {
      if (grid.plan) give_whole_experts(*grid.plan, instance.profile);
    }
  }
  if (name == uniform_grids) result.plan->planner = name;
  result.plan->search_complete = outcome.complete;
  result.plan->search_candidates = outcome.num_examined;
  result.plan->search_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace pptrain
