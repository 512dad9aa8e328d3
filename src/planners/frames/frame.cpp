#include "planners/frames/frame.hpp"

#include <algorithm>

#include "planners/simulated/schedule_choices.hpp"

namespace pptrain {

std::vector<Grid> frame_grids(const SearchSpace& space, int num_devices) {
  const Profile& profile = space.instance.profile;
  std::vector<Grid> grids = grids_of(num_devices, space.restrictions);
  std::erase_if(grids, [&](const Grid& grid) {
    return grid.pipeline > profile.num_layers() || grid.data > space.instance.global_batch_size;
  });
  return grids;
}

std::vector<std::int64_t> frame_micro_batches(const SearchSpace& space, const Grid& grid, bool uneven) {
  std::vector<std::int64_t> sizes = micro_batch_sizes(space.instance.global_batch_size, space.restrictions);
  std::erase_if(sizes, [&](std::int64_t size) { return size < grid.data || (!uneven && size % grid.data != 0); });
  return sizes;
}

std::vector<FrameModes> frame_modes(const Restrictions& restrictions, int replicas) {
  std::vector<RecomputeRule> rules = {RecomputeRule::none, RecomputeRule::needed, RecomputeRule::full};
  if (restrictions.recompute == Recompute::none) rules = {RecomputeRule::none};
  if (restrictions.recompute == Recompute::selective) rules = {RecomputeRule::selective};
  if (restrictions.recompute == Recompute::full) rules = {RecomputeRule::full};
  std::vector<int> stages = {0, 1, 2, 3};
  if (restrictions.zero_stage) stages = {static_cast<int>(*restrictions.zero_stage)};
  if (replicas == 1) stages = {stages.front()};  // a replica alone divides nothing
  std::vector<FrameModes> modes;
  for (const RecomputeRule rule : rules) {
    for (const int stage : stages) modes.push_back({rule, stage, restrictions.zero_group});
  }
  return modes;
}

std::vector<ScheduleChoice> frame_schedules(const SearchSpace& space, int stages) {
  Plan plan;
  plan.stages.resize(static_cast<std::size_t>(stages));
  plan.schedule = schedule_under(space.restrictions);
  return schedule_choices(space.restrictions, space.instance.profile, plan);
}

}  // namespace pptrain
