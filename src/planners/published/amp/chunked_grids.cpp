#include "planners/published/amp/chunked_grids.hpp"

#include <algorithm>
#include <limits>

#include "cost/stage_time.hpp"
#include "plan/zero_groups.hpp"
#include "planners/divide/division_problem.hpp"
#include "planners/divide/layer_balance.hpp"
#include "planners/meshes/grid.hpp"

namespace pptrain {
namespace {

class ChunkedSearch {
 public:
  ChunkedSearch(const SearchSpace& space, const ScheduleChoice& schedule,
                const std::string& planner)
      : space_(space), schedule_(schedule), planner_(planner) {}

  Outcome search() {
    for (const Grid& grid : grids_of(space_.instance.cluster.num_devices(), space_.restrictions)) {
      GridCandidate best = best_of(grid);
      if (result_.why_not.empty()) result_.why_not = to_string(grid) + ": " + best.why_not;
      result_.grids.push_back(std::move(best));
    }
    std::stable_sort(result_.grids.begin(), result_.grids.end(),
                     [](const GridCandidate& a, const GridCandidate& b) {
                       return seconds_of(a) < seconds_of(b) * (1.0 - tie_tolerance);
                     });
    if (!result_.grids.empty()) result_.plan = result_.grids.front().plan;
    if (result_.plan) result_.why_not.clear();
    return std::move(result_);
  }

 private:
  static double seconds_of(const GridCandidate& grid) {
    return grid.plan ? grid.plan->predicted->iteration_seconds : std::numeric_limits<double>::max();
  }

  /// A larger micro-batch needs no less memory, so the rest need not be asked once one does not
  /// fit.
  GridCandidate best_of(const Grid& grid) {
    GridCandidate best = {grid.pipeline, grid.data, grid.tensor, std::nullopt, ""};
    best.why_not = why_not_in_space(grid, space_.instance, space_.restrictions);
    if (!best.why_not.empty()) return best;
    for (const std::int64_t samples :
         samples_per_replica(grid, space_.instance.global_batch_size, space_.restrictions)) {
      if (stopped()) break;
      ++result_.num_examined;
      Plan plan = plan_of(grid, samples);
      if (std::string why_not = why_not_fit(space_.instance, plan); !why_not.empty()) {
        if (!best.plan) best.why_not = std::move(why_not);
        break;
      }
      plan = finished_plan(space_, std::move(plan), planner_);
      const bool better =
          plan.predicted->iteration_seconds < seconds_of(best) * (1.0 - tie_tolerance);
      if (better && !is_refused(space_, plan)) best.plan = std::move(plan);
      found_ = found_ || best.plan.has_value();
    }
    return best;
  }

  /// Obeyed once there is something to return.
  bool stopped() {
    if (!found_ || !space_.stop.requested()) return false;
    result_.complete = false;
    return true;
  }

  Plan plan_of(const Grid& grid, std::int64_t samples) const {
    std::vector<double> seconds;
    for (int layer = 0; layer < space_.instance.profile.num_layers(); ++layer) {
      seconds.push_back(device_seconds(space_.instance, first_kind(), layer, grid.tensor,
                                       static_cast<double>(samples))
                            .total());
    }
    const std::int64_t global_batch = space_.instance.global_batch_size;
    Plan plan =
        uniform_plan(balanced_division(seconds, grid.pipeline * schedule_.virtual_stages),
                     grid.data, grid.tensor, global_batch,
                     micro_batch_of(grid, samples, global_batch, space_.restrictions), schedule_);
    const StageModes modes = modes_of(space_.restrictions);
    for (Stage& stage : plan.stages) {
      stage.recompute = modes.recompute;
      divide_state(stage, modes.zero_stage,
                   space_.restrictions.zero_group.value_or(ZeroGroup::replicas),
                   space_.instance.cluster);
    }
    return plan;
  }

  int first_kind() const { return space_.instance.cluster.kind_index_of(DeviceId(0)); }

  const SearchSpace& space_;
  const ScheduleChoice& schedule_;
  const std::string& planner_;
  bool found_ = false;
  Outcome result_;
};

}  // namespace

Outcome search_chunked_grids(const SearchSpace& space, const ScheduleChoice& schedule,
                             const std::string& planner) {
  return ChunkedSearch(space, schedule, planner).search();
}

}  // namespace pptrain
