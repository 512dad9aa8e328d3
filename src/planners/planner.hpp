#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "cost/cost.hpp"
#include "plan/plan.hpp"

namespace pptrain {

/// What the configuration fixes; everything else is free.
struct Restrictions {
  AutoInt data;
  AutoInt pipeline;
  AutoInt tensor;
  AutoInt micro_batch_size;
  std::string schedule = "auto";
  /// Place of each of these keys in messages ("data" -> "x.toml:12"), where it is known.
  std::map<std::string, std::string> places;
};

Restrictions restrictions_of(const Config& config);

/// A candidate grid as the table for people shows it: the best plan of one (pp, dp, tmp).
struct GridCandidate {
  int pipeline = 1;
  int data = 1;
  int tensor = 1;
  std::optional<Plan> plan;  ///< nothing when none fits
  std::string why_not;
};

/// Outcome of a search.
struct SearchResult {
  std::optional<Plan> plan;          ///< with `predicted`, `alternatives` and search figures; none when nothing fits
  std::string why_not;               ///< when nothing fits: what does not fit and by how much
  std::vector<GridCandidate> grids;  ///< best plan of each grid, fastest first, infeasible ones last
};

/// The planners that `search_plan` knows, for messages.
const std::vector<std::string>& planner_names();

/// Searches with the planner called `name`: `auto`, `amp`, `megatron`, `data-parallel`, or `all`,
/// which is `auto`. The plan's alternatives always hold `data-parallel` and `megatron`, and `amp` too
/// where `auto` chose.
///
/// `amp` minimises its estimate (Eq. 4) exactly over all uniform grids, micro-batch sizes and
/// contiguous divisions of the layers; `auto` ranks the same space by `predict().iteration_seconds`.
/// Schedule: 1f1b, or gpipe where the restrictions say so.
///
/// An unknown name, an instance that cannot be costed, or restrictions that contradict each other
/// or the instance throw `Error` (exit code 2) with `source` as the place.
SearchResult search_plan(const std::string& name, const Instance& instance, const Restrictions& restrictions,
                         const std::string& source);

/// Text for people: candidate grids with predicted time and memory, then the plan and its alternatives.
std::string describe_candidates(const SearchResult& result, const Cluster& cluster);
std::string describe_plan(const Plan& plan, const Cluster& cluster);

}  // namespace pptrain
