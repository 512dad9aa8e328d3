#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "planners/other_nodes.hpp"
#include "report/reported_plans.hpp"

namespace pptrain {

/// What a report shows of a plan that nothing has run by (`pptrain.report/1` without series, ranks
/// and environment). `fewer` is what the job takes on parts of the cluster; empty: the page has no
/// such section.
nlohmann::json plan_report_document(const ReportedPlans& reported,
                                    const std::vector<OnFewerNodes>& fewer);

}  // namespace pptrain
