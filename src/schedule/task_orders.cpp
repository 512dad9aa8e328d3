#include <algorithm>

#include "plan/validate.hpp"
#include "schedule/orders.hpp"
#include "schedule/schedule.hpp"

namespace pptrain {

std::vector<ChunkPlace> chunk_places(const Plan& plan) {
  std::vector<ChunkPlace> places;
  for (int s = 0; s < plan.num_stages(); ++s) {
    const auto& intervals = plan.stages[s].layers;
    for (int v = 0; v < static_cast<int>(intervals.size()); ++v)
      places.push_back({StageId(s), v, intervals[v]});
  }
  std::sort(places.begin(), places.end(), [](const ChunkPlace& a, const ChunkPlace& b) {
    return a.layers.begin < b.layers.begin;
  });
  return places;
}

std::vector<TaskOrder> task_orders(const Plan& plan, const OrderOptions& options) {
  return find_task_orders(plan, options).orders;
}

FoundOrders find_task_orders(const Plan& plan, const OrderOptions& options) {
  PipelineShape shape;
  shape.ranks = plan.num_stages();
  shape.chunks_per_rank = plan.schedule.virtual_stages;
  shape.placement = schedule_kind(plan.schedule.name).placement;
  shape.micro_batches = static_cast<int>(plan.micro_batches);
  shape.unit = plan.schedule.unit;
  shape.seconds = options.seconds;
  shape.cuts = options.cuts;
  shape.reduce_seconds = options.reduce_seconds;
  shape.most_stored = options.most_stored;
  shape.stored = options.stored;
  shape.room = options.room;
  shape.effort = options.effort;
  check_chunk_layout(plan, "plan");
  return find_orders(plan.schedule.name, shape);
}

}  // namespace pptrain
