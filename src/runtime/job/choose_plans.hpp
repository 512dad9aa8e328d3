#pragma once

#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

#include "planners/search.hpp"
#include "profile/profile.hpp"
#include "runtime/places/job_setup.hpp"

namespace pptrain {

/// The plan that the configuration names, refused where it does not match the job or cannot be run;
/// nothing where it names none. Collective.
std::optional<Plan> named_plan(const JobSetup& job);

/// What a plan is chosen from. What is referred to outlives it.
struct PlanChoice {
  const JobOptions& options;
  const Config& config;
  const Machine& machine;
  const Profile& profile;
  std::optional<Plan> named = {};  ///< the plan that the configuration names, where it has been
                                   ///< read
};

/// The plan: the one the configuration names, or the best found, followed by the next best ones
/// where it asks for trials. Rank 0 searches, prints the candidates and the plan, and hands them to
/// all. Throws exit code 3 when nothing fits. Collective.
std::vector<Plan> choose_plans(MPI_Comm world, Waiter& waiter, const PlanChoice& choice);

/// `search_by_objective` within `[planner] time_limit`; one that takes long shows how far it is on
/// standard error. `training_tokens`: that `[planner] max_cost` is for, where they are known.
SearchResult shown_search(const std::string& planner, const Config& config,
                          const Instance& instance, const Restrictions& restrictions,
                          std::optional<double> training_tokens = {});

/// The plan of a search, or exit code 3 with what does not fit, and with how many nodes it was
/// found to fit where that was found within 20 seconds. Arguments are those of the search.
const Plan& feasible_plan(const SearchResult& result, const std::string& planner,
                          const Config& config, const Instance& instance,
                          const Restrictions& restrictions);

}  // namespace pptrain
