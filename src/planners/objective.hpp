#pragma once

#include <optional>
#include <string>

#include "planners/describe/running_cost.hpp"
#include "planners/search.hpp"

namespace pptrain {

/// What a plan is to make small, and what it has to keep to.
struct Objective {
  ObjectiveKind kind = ObjectiveKind::time;
  std::optional<double> max_cost;  ///< money for the tokens of a training, or for 10^9 tokens
  std::optional<double> min_tokens_per_second;
  std::string place;  ///< for messages: where the objective stands
  std::string max_cost_place;
  std::string min_tokens_place;

  /// Whether the fastest plan is all that is asked for.
  bool is_time_alone() const {
    return kind == ObjectiveKind::time && !max_cost && !min_tokens_per_second;
  }
};
Objective objective_of(const Config& config);

/// Searches for the plan that the objective asks for. For time alone that is `search_plan`. Else
/// nodes that do not pay are left out: the instance is planned on growing parts of its cluster,
/// those nodes first whose work costs least and those that are fastest, and on neighbours of the
/// best part (`PartSearch`); the best part is planned as thoroughly as the restrictions say. A plan
/// costs what the nodes that it uses do, for the time of a step, and what leaves sites.
///
/// A node without a price where money counts, samples that are no tokens where a limit counts
/// tokens, and limits that no plan keeps to throw `Error` (exit code 2), the last with the plan
/// that comes nearest.
SearchResult search_by_objective(const SearchRequest& request, const Objective& objective,
                                 const CostQuestion& question);

}  // namespace pptrain
