#pragma once

#include <functional>
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
  std::optional<Plan> plan;             ///< with `predicted`, `alternatives` and search figures; none when nothing fits
  std::string why_not;                  ///< when nothing fits: what does not fit and by how much
  std::vector<GridCandidate> grids;     ///< best plan of each grid, fastest first, infeasible ones last
};

/// Searches with the planner called `name`: `auto`, `amp`, `megatron` or `data-parallel`.
/// An unknown name, or restrictions that contradict each other or the cluster, throw `Error`
/// (exit code 2) with `source` as the place.
SearchResult search_plan(const std::string& name, const Instance& instance, const Restrictions& restrictions,
                         const std::string& source);

/// Text for people: candidate grids with predicted time and memory, then the plan and its alternatives.
std::string describe_candidates(const SearchResult& result, const Cluster& cluster);
std::string describe_plan(const Plan& plan, const Cluster& cluster);

}  // namespace pptrain
