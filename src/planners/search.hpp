#pragma once

#include <string>
#include <vector>

#include "planners/ask/search_result.hpp"

namespace pptrain {

/// All planners, `auto` first.
const std::vector<const Planner*>& planners();
/// The planner of that name, which there must be.
const Planner& planner_called(const std::string& name);
/// The names of all planners and "all", for messages.
const std::vector<std::string>& planner_names();

/// Refuses (`Error`, exit code 2) a name that no planner has.
void check_planner_name(const std::string& name, const std::string& source);

/// The checks of `search_plan` that look at no time of a layer: an unknown name, restrictions that
/// contradict each other or the instance. Throws `Error` (exit code 2) with `source` as the place.
void check_search(const std::string& name, const Instance& instance,
                  const Restrictions& restrictions, const std::string& source);

/// Searches with the planner called `name`, or with `auto` and every other one beside it for "all".
/// The plan's alternatives always hold `data-parallel` and `megatron`, and those that `auto` asked
/// where it chose; the reason why an alternative lost or does not fit stands in its `why_not`.
///
/// Schedule of the plans: `schedule_under` the restrictions. Beside 1f1b and gpipe that leaves
/// uniform grids, which `auto` and the planners of grids know, and with several chunks per stage
/// those of `search_chunked_grids`.
///
/// An unknown name, an instance that cannot be costed, or restrictions that contradict each other
/// or the instance throw `Error` (exit code 2) with `source` as the place. `progress`, where given,
/// is told how far the search is.
SearchResult search_plan(const std::string& name, const Instance& instance,
                         const Restrictions& restrictions, const std::string& source,
                         Stop stop = Stop(), SearchProgress* progress = nullptr);

/// The arguments of `search_plan`, which outlive it.
struct SearchRequest {
  const std::string& planner;
  const Instance& instance;
  const Restrictions& restrictions;
  const std::string& source;
  Stop stop = Stop();
  SearchProgress* progress = nullptr;
};

}  // namespace pptrain
