#include "planners/part_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "base/parallel_for.hpp"
#include "plan/match.hpp"
#include "planners/other_nodes.hpp"

namespace pptrain {
namespace {

constexpr std::size_t most_searches = 96;  ///< that are planned in all

/// The number that each device of the part has in the whole cluster.
std::vector<DeviceId> devices_of_part(const Cluster& cluster, const std::vector<int>& nodes) {
  std::vector<DeviceId> devices;
  int first = 0;
  for (std::size_t g = 0; g < nodes.size(); ++g) {
    const NodeGroup& group = cluster.groups[g];
    for (int d = 0; d < nodes[g] * group.num_devices; ++d) devices.emplace_back(first + d);
    first += group.count * group.num_devices;
  }
  return devices;
}

}  // namespace

bool Worth::better_than(const Worth& other) const {
  return excess != other.excess ? excess < other.excess : value < other.value;
}

Plan plan_of_whole(Plan plan, const Cluster& cluster, const std::vector<int>& nodes) {
  const std::vector<DeviceId> devices = devices_of_part(cluster, nodes);
  for (Stage& stage : plan.stages) {
    for (auto& row : stage.devices) {
      for (DeviceId& device : row) device = devices[device.index()];
    }
  }
  plan.cluster = cluster.name;
  plan.device_kinds = kind_runs(cluster);
  if (!plan.predicted) return plan;
  std::vector<double> peaks(static_cast<std::size_t>(cluster.num_devices()), 0.0);
  for (std::size_t d = 0; d < plan.predicted->peak_bytes.size(); ++d) {
    peaks[devices[d].index()] = plan.predicted->peak_bytes[d];
  }
  plan.predicted->peak_bytes = std::move(peaks);
  return plan;
}

PartSearch::Part PartSearch::planned(const std::vector<int>& nodes,
                                     const Restrictions& restrictions,
                                     SearchProgress* progress) const {
  Part part = {nodes, std::nullopt};
  const Cluster cluster = with_nodes(request_.instance.cluster, nodes);
  const Instance on_part = {request_.instance.profile, cluster, request_.instance.global_batch_size,
                            request_.instance.ties};
  SearchResult found = search_plan(request_.planner, on_part, restrictions, request_.source,
                                   request_.stop, progress);
  part.why_not = found.why_not;
  part.complete = found.complete;
  if (!found.plan) return part;
  part.plan = plan_of_whole(*std::move(found.plan), request_.instance.cluster, nodes);
  part.worth = judge_(*part.plan);
  return part;
}

bool PartSearch::is_known(const std::vector<int>& nodes) const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [&](const Part& part) { return part.nodes == nodes; });
}

void PartSearch::look_at(const std::vector<std::vector<int>>& parts) {
  const std::size_t known = parts_.size();
  for (const std::vector<int>& nodes : parts) {
    const bool has_nodes = std::accumulate(nodes.begin(), nodes.end(), 0) > 0;
    if (has_nodes && parts_.size() < most_searches && !is_known(nodes))
      parts_.push_back({nodes, std::nullopt});
  }
  Restrictions quick = request_.restrictions;
  quick.effort = Effort::quick;
  quick.threads = 1;
  if (request_.progress != nullptr)
    request_.progress->asks(fmt::format("parts {} to {} of the cluster", known + 1, parts_.size()));
  const int threads =
      request_.restrictions.threads > 0 ? request_.restrictions.threads : usable_cores();
  parallel_for(static_cast<int>(parts_.size() - known), threads, [&](int, int i) {
    Part& part = parts_[known + static_cast<std::size_t>(i)];
    if (request_.stop.requested() && known + static_cast<std::size_t>(i) > 0) return;
    try {
      part = planned(part.nodes, quick, nullptr);
    } catch (const Error& error) {
      part.why_not = error.what();  // degrees that are fixed do not go with so few devices
    }
  });
}

void PartSearch::climb() {
  int step = 1;
  for (const NodeGroup& group : request_.instance.cluster.groups)
    step = std::max(step, group.count / 2);
  while (step > 0 && best() != nullptr && !request_.stop.requested()) {
    const std::vector<int> from = best()->nodes;
    std::vector<std::vector<int>> near;
    for (std::size_t g = 0; g < from.size(); ++g) {
      for (const int more : {-step, step}) {
        near.push_back(from);
        near.back()[g] = std::clamp(from[g] + more, 0, request_.instance.cluster.groups[g].count);
      }
    }
    look_at(near);
    if (best()->nodes == from) step /= 2;
  }
}

PartSearch::Part PartSearch::planned_well(const std::vector<int>& nodes) const {
  return planned(nodes, request_.restrictions, request_.progress);
}

const PartSearch::Part* PartSearch::best() const {
  const Part* best = nullptr;
  for (const Part& part : parts_) {
    if (part.plan && (best == nullptr || part.worth.better_than(best->worth))) best = &part;
  }
  return best;
}

}  // namespace pptrain
