#include "planners/divide/grid_problems.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cost/overrun.hpp"

namespace pptrain {
namespace {

/// The first of `count` consecutive devices with so little memory.
DeviceId first_with_memory(const Cluster& cluster, int first, double memory) {
  while (cluster.kind_of(DeviceId(first)).memory > memory) ++first;
  return DeviceId(first);
}

/// The division as a plan in the order of the devices.
Plan plan_of(const SearchSpace& space, const Grid& grid, const DivisionProblem& problem,
             const std::vector<Interval>& layers) {
  Plan plan = uniform_plan(layers, grid.data, grid.tensor, space.instance.global_batch_size,
                           problem.micro_batch(), space.schedule);
  const StageModes modes = modes_of(space.restrictions);
  for (Stage& stage : plan.stages) {
    stage.recompute = modes.recompute;
    stage.zero_stage = modes.zero_stage;
  }
  return plan;
}

}  // namespace

const GridLayout& GridProblems::layout(const Grid& grid) {
  const auto known = layouts_.find(grid);
  if (known != layouts_.end()) return known->second;
  return layouts_
      .emplace(grid, place(space_.instance.cluster, grid,
                           space_.restrictions.zero_group.value_or(ZeroGroup::replicas)))
      .first->second;
}

Overrun overrun_of(const SearchSpace& space, const Grid& grid, const DivisionProblem& problem,
                   const std::vector<Interval>& layers) {
  Overrun overrun = {0.0, grid, ""};
  int worst = 0;
  double need = 0.0;
  for (int i = 0; i < problem.num_stages(); ++i) {
    const double stage =
        problem.memory_need(i, static_cast<int>(layers[i].begin), static_cast<int>(layers[i].end));
    overrun.use = std::max(overrun.use, stage / problem.memory(i));
    if (i > 0 && stage - problem.memory(i) <= need - problem.memory(worst)) continue;
    worst = i;
    need = stage;
  }
  const Instance& instance = space.instance;
  const DeviceId device =
      first_with_memory(instance.cluster, worst * grid.data * grid.tensor, problem.memory(worst));
  overrun.text =
      fmt::format("with micro-batches of {} {}", problem.micro_batch(),
                  overrun_by_parts(instance, plan_of(space, grid, problem, layers), device, need));
  return overrun;
}

void NearestOverrun::offer(const Overrun& overrun) {
  if (overrun.use >= use_) return;
  use_ = overrun.use;
  text_ = fmt::format("{}: {}", to_string(overrun.grid), overrun.text);
}

}  // namespace pptrain
