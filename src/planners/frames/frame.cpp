#include "planners/frames/frame.hpp"

#include <algorithm>

#include "cost/layer_sums.hpp"
#include "plan/zero_groups.hpp"
#include "planners/frames/schedule_choices.hpp"
#include "planners/meshes/grid.hpp"

namespace pptrain {

bool is_small(const Instance& instance) {
  constexpr int most_devices = 8;
  return instance.cluster.num_devices() <= most_devices;
}

std::vector<std::int64_t> frame_micro_batches(const SearchSpace& space, int most_data) {
  std::vector<std::int64_t> sizes =
      micro_batch_sizes(space.instance.global_batch_size, space.restrictions);
  constexpr int most_uneven = 256;  // replicas
  const bool even = space.restrictions.shares_evenly() ||
                    (most_data > most_uneven && !space.restrictions.uneven_shares);
  std::erase_if(sizes, [&](std::int64_t size) {
    return size < most_data || (even && size % most_data != 0);
  });
  return sizes;
}

std::vector<RecomputeRule> recompute_rules(const SearchSpace& space) {
  const Restrictions& restrictions = space.restrictions;
  if (!restrictions.recompute && restrictions.shares_evenly()) {
    if (takes_time_selectively(space.instance.profile))
      return {RecomputeRule::none, RecomputeRule::selective, RecomputeRule::full};
    return {RecomputeRule::none, RecomputeRule::full};
  }
  if (!restrictions.recompute)
    return {RecomputeRule::none, RecomputeRule::needed, RecomputeRule::full};
  switch (*restrictions.recompute) {
    case Recompute::none: return {RecomputeRule::none};
    case Recompute::selective: return {RecomputeRule::selective};
    case Recompute::full: return {RecomputeRule::full};
  }
  return {RecomputeRule::none};
}

Recompute weakest(RecomputeRule rule) {
  if (rule == RecomputeRule::full) return Recompute::full;
  return rule == RecomputeRule::selective ? Recompute::selective : Recompute::none;
}

std::vector<int> zero_stages(const Restrictions& restrictions, const PlacedShape& placed) {
  if (restrictions.zero_stage) return {static_cast<int>(*restrictions.zero_stage)};
  if (placed.most_data() == 1) return {0};  // a replica alone divides nothing
  std::vector<int> stages = {0, 1, 2, 3};
  if (restrictions.rule)
    stages = restrictions.rule->trainer().zero_stages(placed.num_stages(), placed.tensor(0));
  // Without ZeRO, who divides the state is all the same.
  if (!restrictions.zero_group && placed.zero_group() == ZeroGroup::node) std::erase(stages, 0);
  return stages;
}

std::vector<ZeroGroup> zero_groups(const Restrictions& restrictions) {
  if (restrictions.zero_group) return {*restrictions.zero_group};
  if (restrictions.zero_stage == AutoInt(0)) return {ZeroGroup::replicas};
  return {ZeroGroup::replicas, ZeroGroup::node};
}

ZeroGroup zero_group_under(const SearchSpace& space, const Stage& stage, ZeroGroup wanted) {
  if (space.restrictions.zero_group) return *space.restrictions.zero_group;
  return has_node_groups(space.instance.cluster, stage) ? wanted : ZeroGroup::replicas;
}

std::vector<ZeroGroup> zero_groups(const SearchSpace& space,
                                   const std::vector<DeviceRows>& meshes) {
  std::vector<ZeroGroup> groups = zero_groups(space.restrictions);
  if (groups.size() == 1) return groups;
  bool any = false;
  for (const DeviceRows& mesh : meshes) {
    Stage stage;
    stage.replicas = static_cast<int>(mesh.size());
    stage.devices = mesh;
    if (node_groups(space.instance.cluster, stage).size() == 1) continue;
    if (!has_node_groups(space.instance.cluster, stage)) return {ZeroGroup::replicas};
    any = true;
  }
  if (!any) groups.pop_back();
  return groups;
}

std::vector<ScheduleChoice> frame_schedules(const SearchSpace& space, int stages) {
  Plan plan;
  plan.stages.resize(static_cast<std::size_t>(stages));
  plan.schedule = schedule_under(space.restrictions);
  return schedule_choices(space.restrictions, space.instance.profile, plan);
}

}  // namespace pptrain
