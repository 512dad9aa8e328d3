#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "config/config.hpp"
#include "plan/plan.hpp"
#include "profile/profile.hpp"

namespace pptrain {

/// A plan of a run and the steps that were done before it.
struct PlanOfRun {
  std::int64_t from_step = 0;
  Plan plan;
};

/// What a report shows of plans, whether they were run or not.
struct ReportedPlans {
  std::string configuration;     ///< CONFIG.toml as it stands; "": there is none
  std::optional<Config> config;  ///< nothing where the plan was made without one
  std::vector<PlanOfRun> plans;  ///< at least one, by steps
  Cluster cluster;
  Profile profile;
};

/// Nodes with their devices: the memory of each and what the last plan keeps in it,
/// `predicted_bytes` and of these `state` (weights, gradients, optimizer state). A list of objects,
/// one for each node.
nlohmann::json nodes_document(const ReportedPlans& reported);

/// One iteration of the last plan as the simulator has it, and as `chrome_trace` (null: it was not
/// recorded) measured it: `predicted` and `measured` of `to_json`. What cannot be simulated is said
/// in `notes`.
nlohmann::json timelines_document(const ReportedPlans& reported, const nlohmann::json& chrome_trace,
                                  nlohmann::json& notes);

/// All plans, as `plan_document` has each.
nlohmann::json plans_document(const ReportedPlans& reported);

/// Model, cluster and size of the job: what `job` of each report begins with.
nlohmann::json planned_job_document(const ReportedPlans& reported);

}  // namespace pptrain
