#include "planners/frames/leaders.hpp"

#include <algorithm>
#include <utility>

#include "planners/judge/known_plans.hpp"

namespace pptrain {
namespace {

/// The stage without ZeRO, with node groups in the place of its devices, and replicas in the order
/// of these and of their numbers of samples.
Stage anonymous(Stage stage, const Cluster& cluster) {
  std::vector<std::pair<std::vector<DeviceId>, std::int64_t>> replicas;
  for (std::size_t r = 0; r < stage.devices.size(); ++r) {
    std::vector<DeviceId>& members = stage.devices[r];
    for (DeviceId& device : members) device = DeviceId(cluster.group_of(device));
    replicas.emplace_back(std::move(members), stage.samples[r].size());
  }
  std::sort(replicas.begin(), replicas.end());
  std::int64_t end = 0;
  for (std::size_t r = 0; r < replicas.size(); ++r) {
    stage.devices[r] = std::move(replicas[r].first);
    stage.samples[r] = {end, end + replicas[r].second};
    end += replicas[r].second;
  }
  stage.zero_stage = 0;
  return stage;
}

}  // namespace

void sort_leaders(std::vector<TriedPlan>& leaders) {
  std::stable_sort(leaders.begin(), leaders.end(),
                   [](const TriedPlan& x, const TriedPlan& y) { return x.seconds < y.seconds; });
}

void drop_equal_leaders(std::vector<TriedPlan>& leaders) {
  KnownPlans known;
  std::erase_if(leaders, [&known](const TriedPlan& leader) {
    const std::size_t before = known.size();
    return known.add(leader.plan) < before;
  });
}

void drop_leaders_alike(std::vector<TriedPlan>& leaders, const Cluster& cluster) {
  KnownPlans known;
  std::vector<double> seconds;
  std::erase_if(leaders, [&](const TriedPlan& leader) {
    Plan plan = leader.plan;
    for (Stage& stage : plan.stages) stage = anonymous(std::move(stage), cluster);
    const std::size_t number = known.add(plan);
    if (number < seconds.size()) return seconds[number] == leader.seconds;
    seconds.push_back(leader.seconds);
    return false;
  });
}

}  // namespace pptrain
