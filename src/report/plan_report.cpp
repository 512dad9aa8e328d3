#include "report/plan_report.hpp"

#include "report/numbers.hpp"

namespace pptrain {
namespace {

using nlohmann::json;

/// How many nodes of each kind there are, in the order of the cluster's groups.
json kinds_of(const Cluster& cluster, const std::vector<int>& nodes) {
  json list = json::array();
  for (std::size_t g = 0; g < nodes.size(); ++g) {
    if (nodes[g] > 0) list.push_back({{"kind", cluster.groups[g].kind}, {"nodes", nodes[g]}});
  }
  return list;
}

json fewer_nodes_document(const Cluster& cluster, const std::vector<OnFewerNodes>& fewer) {
  json list = json::array();
  for (const OnFewerNodes& part : fewer) {
    list.push_back({{"nodes", part.num_nodes},
                    {"devices", part.num_devices},
                    {"kinds", kinds_of(cluster, part.nodes)},
                    {"iteration_seconds",
                     part.iteration_seconds ? short_number(*part.iteration_seconds) : json()},
                    {"why_not", part.why_not}});
  }
  return list;
}

}  // namespace

json plan_report_document(const ReportedPlans& reported, const std::vector<OnFewerNodes>& fewer) {
  json notes = json::array();
  json job = planned_job_document(reported);
  job["planned_only"] = true;
  json document = {{"schema", "pptrain.report/1"},
                   {"job", std::move(job)},
                   {"configuration", reported.configuration},
                   {"nodes", nodes_document(reported)},
                   {"plans", plans_document(reported)},
                   {"timelines", timelines_document(reported, nullptr, notes)},
                   {"fewer_nodes", fewer_nodes_document(reported.cluster, fewer)}};
  document["notes"] = std::move(notes);
  return document;
}

}  // namespace pptrain
