#include "planners/objective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "base/error.hpp"
#include "base/names.hpp"
#include "base/units.hpp"
#include "planners/other_nodes.hpp"
#include "planners/part_search.hpp"

namespace pptrain {
namespace {

constexpr std::size_t most_growing_parts = 8;

bool needs_money(const Objective& objective) {
  return objective.kind != ObjectiveKind::time || objective.max_cost;
}

/// Refuses what the cluster or the model cannot be asked.
void check_objective(const Objective& objective, const CostQuestion& question,
                     const Cluster& cluster) {
  if (needs_money(objective)) {
    std::vector<std::string> without;
    for (const NodeGroup& group : cluster.groups) {
      if (!group.price) without.push_back(group.kind);
    }
    if (!without.empty()) {
      const bool limit = objective.kind == ObjectiveKind::time;
      throw_bad_input(
          {limit ? objective.max_cost_place : objective.place,
           limit ? "max_cost without prices"
                 : fmt::format("objective = \"{}\" without prices",
                               objective_names().name_of(objective.kind)),
           fmt::format("an hour of {} has no price", join(without)),
           fmt::format("add --price \"{}=98.32USD\", or price to each [[node]] and currency to the "
                       "cluster's file",
                       without.front())});
    }
  }
  if (question.tokens_per_sample) return;
  for (const auto& [limit, place, name] :
       {std::tuple(objective.max_cost, objective.max_cost_place, "max_cost"),
        std::tuple(objective.min_tokens_per_second, objective.min_tokens_place,
                   "min_tokens_per_second")}) {
    if (!limit) continue;
    throw_bad_input({place, fmt::format("{} of a model whose tokens are not counted", name),
                     "its samples are no texts, or only its times are known",
                     "leave it out, or say the length: --set training.sequence_length=N"});
  }
}

class ObjectiveSearch {
 public:
  ObjectiveSearch(const Instance& instance, const Objective& objective,
                  const CostQuestion& question)
      : instance_(instance), objective_(objective), question_(question) {}

  Worth judge(Plan& plan) const {
    predict_cost(instance_, question_, plan);
    const double time = wall_seconds(plan);
    Worth worth;
    if (objective_.max_cost)
      worth.excess = std::max(worth.excess, money_of(plan) / *objective_.max_cost - 1.0);
    if (objective_.min_tokens_per_second) {
      worth.excess =
          std::max(worth.excess, *objective_.min_tokens_per_second / speed_of(plan) - 1.0);
    }
    if (objective_.kind == ObjectiveKind::time) {
      worth.value = plan.predicted->iteration_seconds;
    } else {
      const double money = *plan.predicted->cost->money_per_step;
      worth.value = objective_.kind == ObjectiveKind::cost ? money : money * time;
    }
    return worth;
  }

  /// Parts to begin with: growing ones by speed and by money for work, and each group of nodes
  /// alone.
  std::vector<std::vector<int>> first_parts() const {
    const Cluster& cluster = instance_.cluster;
    std::vector<std::vector<int>> parts = {counts(cluster)};
    const auto append = [&](const std::vector<std::vector<int>>& more) {
      parts.insert(parts.end(), more.begin(), more.end());
    };
    append(growing_parts(instance_, most_growing_parts));
    if (needs_money(objective_))
      append(growing_parts(cluster, cheapest_first(), most_growing_parts));
    for (std::size_t g = 0; g < cluster.groups.size(); ++g) {
      parts.emplace_back(cluster.groups.size(), 0);
      parts.back()[g] = cluster.groups[g].count;
    }
    return parts;
  }

  /// Throws with the plan that came nearest to the limits.
  [[noreturn]] void refuse(const Plan& nearest) const {
    const bool of_money = objective_.max_cost && money_of(nearest) > *objective_.max_cost;
    const std::string& currency = instance_.cluster.currency;
    const std::string has = objective_.max_cost
                                ? fmt::format("{} at ", format_money(money_of(nearest), currency))
                                : std::string();
    const std::string reached =
        fmt::format("the nearest that was found has {}{} tokens/s, on {} of {} nodes", has,
                    format_count(speed_of(nearest)),
                    nearest.predicted->cost ? nearest.predicted->cost->nodes : 0,
                    instance_.cluster.num_nodes());
    if (of_money) {
      throw_bad_input({objective_.max_cost_place,
                       fmt::format("no plan that was found costs at most {}{}",
                                   format_money(*objective_.max_cost, currency), tokens_text()),
                       reached, "raise max_cost, or lower min_tokens_per_second where it is set"});
    }
    throw_bad_input({objective_.min_tokens_place,
                     fmt::format("no plan that was found has {} tokens/s",
                                 format_count(*objective_.min_tokens_per_second)),
                     reached, "lower min_tokens_per_second, or add nodes"});
  }

 private:
  static std::vector<int> counts(const Cluster& cluster) {
    std::vector<int> nodes;
    for (const NodeGroup& group : cluster.groups) nodes.push_back(group.count);
    return nodes;
  }

  std::vector<int> cheapest_first() const {
    std::vector<int> groups(instance_.cluster.groups.size());
    std::iota(groups.begin(), groups.end(), 0);
    std::vector<double> money;
    for (const int g : groups) {
      const NodeGroup& group = instance_.cluster.groups[static_cast<std::size_t>(g)];
      money.push_back(*group.price / group.num_devices * sample_seconds(instance_, g));
    }
    std::stable_sort(groups.begin(), groups.end(), [&](int a, int b) {
      return money[static_cast<std::size_t>(a)] < money[static_cast<std::size_t>(b)];
    });
    return groups;
  }

  static double wall_seconds(const Plan& plan) {
    const Prediction& predicted = *plan.predicted;
    return predicted.iteration_seconds / (predicted.failures ? predicted.failures->goodput : 1.0);
  }
  double speed_of(const Plan& plan) const {
    return *question_.tokens_per_sample * static_cast<double>(plan.samples_per_step()) /
           plan.predicted->iteration_seconds;
  }
  double money_of(const Plan& plan) const {
    const CostPrediction& cost = *plan.predicted->cost;
    return cost.training ? *cost.training->money : *cost.money_per_billion_tokens;
  }
  std::string tokens_text() const {
    return question_.training_tokens
               ? fmt::format(" for {} tokens", format_count(*question_.training_tokens))
               : " for 10^9 tokens";
  }

  const Instance& instance_;
  const Objective& objective_;
  const CostQuestion& question_;
};

/// The best part of a search as the result of one search.
SearchResult result_of(const PartSearch& parts, const PartSearch::Part& best,
                       const Instance& instance, const Restrictions& restrictions, double seconds) {
  SearchResult result;
  result.plan = best.plan;
  result.complete = best.complete;
  std::int64_t candidates = 0;
  for (const PartSearch::Part& part : parts.parts())
    candidates += part.plan ? part.plan->search_candidates : 0;
  result.plan->search_candidates = candidates;
  result.plan->search_seconds = seconds;
  result.plan->predicted->lower_bound_seconds =
      lower_bound_seconds(instance, restrictions.recompute);
  return result;
}

}  // namespace

Objective objective_of(const Config& config) {
  const PlannerConfig& planner = config.planner;
  return {planner.objective,
          planner.max_cost,
          planner.min_tokens_per_second,
          config.where("planner.objective"),
          config.where("planner.max_cost"),
          config.where("planner.min_tokens_per_second")};
}

SearchResult search_by_objective(const SearchRequest& request, const Objective& objective,
                                 const CostQuestion& question) {
  const Instance& instance = request.instance;
  const Restrictions& restrictions = request.restrictions;
  if (objective.is_time_alone())
    return search_plan(request.planner, instance, restrictions, request.source, request.stop,
                       request.progress);
  check_objective(objective, question, instance.cluster);
  check_search(request.planner, instance, restrictions, request.source);
  check_instance(instance, request.source);
  const auto start = std::chrono::steady_clock::now();
  const ObjectiveSearch search(instance, objective, question);
  const JudgePlan judge = [&search](Plan& plan) { return search.judge(plan); };
  PartSearch parts(request, judge);
  parts.look_at(search.first_parts());
  parts.climb();
  const PartSearch::Part* best = parts.best();
  if (best == nullptr) return {std::nullopt, parts.parts().front().why_not, false, {}, {}};
  PartSearch::Part chosen = *best;
  if (restrictions.effort != Effort::quick && !chosen.complete && !request.stop.requested()) {
    PartSearch::Part better = parts.planned_well(chosen.nodes);
    if (better.plan && !chosen.worth.better_than(better.worth)) chosen = std::move(better);
  }
  if (chosen.worth.excess > 0.0) search.refuse(*chosen.plan);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  SearchResult result = result_of(parts, chosen, instance, restrictions, seconds);
  if (request.stop.requested()) result.plan->search_complete = result.complete = false;
  return result;
}

}  // namespace pptrain
