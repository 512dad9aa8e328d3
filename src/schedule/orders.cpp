#include <algorithm>

#include "base/error.hpp"
#include "schedule/schedule.hpp"

namespace pptrain {
namespace {

/// `warm_up` forwards, then one backward and one forward in turn, then the remaining backwards.
/// GPipe warms up with all of them.
TaskOrder one_chunk_order(ChunkId chunk, int micro_batches, int warm_up) {
  TaskOrder order;
  int forward = 0;
  for (; forward < warm_up; ++forward) order.push_back({TaskKind::forward, chunk, MicroBatchId(forward)});
  for (int backward = 0; backward < micro_batches; ++backward) {
    order.push_back({TaskKind::backward, chunk, MicroBatchId(backward)});
    if (forward < micro_batches) order.push_back({TaskKind::forward, chunk, MicroBatchId(forward++)});
  }
  return order;
}

}  // namespace

std::vector<ChunkPlace> chunk_places(const Plan& plan) {
  std::vector<ChunkPlace> places;
  for (int s = 0; s < plan.num_stages(); ++s) {
    const auto& intervals = plan.stages[s].layers;
    for (int v = 0; v < static_cast<int>(intervals.size()); ++v) places.push_back({StageId(s), v, intervals[v]});
  }
  std::sort(places.begin(), places.end(),
            [](const ChunkPlace& a, const ChunkPlace& b) { return a.layers.begin < b.layers.begin; });
  return places;
}

std::vector<TaskOrder> task_orders(const Plan& plan) {
  const int stages = plan.num_stages();
  const int micro_batches = static_cast<int>(plan.micro_batches);
  const bool gpipe = plan.schedule.name == "gpipe";
  if (!gpipe && plan.schedule.name != "1f1b") {
    throw_bad_input({"schedule", fmt::format("\"{}\" cannot be run", plan.schedule.name),
                     "this version runs gpipe and 1f1b",
                     "choose one of them in [parallelism] schedule or in the plan"});
  }
  const std::vector<ChunkPlace> places = chunk_places(plan);
  std::vector<TaskOrder> orders(stages);
  for (int c = 0; c < static_cast<int>(places.size()); ++c) {
    const StageId stage = places[c].stage;
    if (!orders[stage.index()].empty()) {
      throw_bad_input({"plan", fmt::format("stage {} has several chunks", stage.value),
                       fmt::format("\"{}\" runs one chunk per stage", plan.schedule.name),
                       "give each stage one interval of layers"});
    }
    const int warm_up = gpipe ? micro_batches : std::min(stages - stage.value, micro_batches);
    orders[stage.index()] = one_chunk_order(ChunkId(c), micro_batches, warm_up);
  }
  return orders;
}

}  // namespace pptrain
