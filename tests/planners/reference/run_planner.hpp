#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "planners/reference/spaces.hpp"
#include "planners/search.hpp"

namespace pptrain::reference {

/// How a search ended.
enum class Ending { found, infeasible, refused };

struct Run {
  Ending ending = Ending::refused;
  std::optional<Plan> plan;
  std::string message;  ///< when nothing was found
};

/// Searches as the command line does; bad input (exit code 2) is `refused`.
inline Run run_planner(const std::string& planner, const RandomInstance& instance,
                       const Restrictions& restrictions = {}) {
  try {
    const SearchResult result = search_plan(planner, instance.view(), restrictions, "test");
    return {result.plan ? Ending::found : Ending::infeasible, result.plan, result.why_not};
  } catch (const Error& error) {
    if (error.code() != ExitCode::bad_input) throw;
    return {Ending::refused, std::nullopt, error.what()};
  }
}

/// The planner's own search, by the closed forms alone: its plan may need more memory in the
/// simulator than there is.
inline Run run_by_forms(const std::string& planner, const RandomInstance& instance,
                        const Restrictions& restrictions) {
  try {
    check_search(planner, instance.view(), restrictions, "test");
    const Outcome outcome = planner_called(planner).search(
        {instance.view(), restrictions, schedule_under(restrictions).name});
    return {outcome.plan ? Ending::found : Ending::infeasible, outcome.plan, outcome.why_not};
  } catch (const Error& error) {
    if (error.code() != ExitCode::bad_input) throw;
    return {Ending::refused, std::nullopt, error.what()};
  }
}

/// Whether the plan is one that `exhaustive` and `amp` could have made.
inline bool in_exhaustive_space(const Plan& plan, const Cluster& cluster) {
  if (plan.num_devices() != cluster.num_devices() || plan.schedule.name != "1f1b") return false;
  for (const Stage& stage : plan.stages) {
    if (stage.layers.size() != 1 || !stage.shards.empty() || !stage.blocks.empty()) return false;
    if (stage.recompute != Recompute::none || stage.zero_stage != 0 || stage.offload) return false;
    if (stage.samples != even_division(plan.micro_batch_size, stage.replicas)) return false;
  }
  return true;
}

}  // namespace pptrain::reference
