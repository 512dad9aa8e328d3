#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "report/reported_plans.hpp"

namespace pptrain {

/// A plan for the page: stages with the names of their layers, predictions, what else was found and
/// why not.
nlohmann::json plan_document(const PlanOfRun& plan, const Profile& profile);

/// The host of a node where that is known, else kind and number.
std::string node_name(const Cluster& cluster, int node);

}  // namespace pptrain
