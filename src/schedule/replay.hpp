#pragma once

#include <optional>
#include <vector>

#include "schedule/pipeline_shape.hpp"
#include "schedule/schedule.hpp"

namespace pptrain {

/// What happens when every rank runs its order as early as possible: F(c, i) after F(c-1, i), B(c,
/// i) after F(c, i) and B(c+1, i), W(c, i) after B(c, i); between ranks when the transfer over the
/// cut has arrived.
struct Replay {
  double makespan = 0.0;                    ///< last end of all ranks; the first task starts at 0
  std::vector<std::vector<double>> starts;  ///< per rank, as its order
  std::vector<double> last_ends;  ///< per rank, of its tasks and of the all-reduces of its
                                  ///< gradients
};

/// Nothing where the orders wait for each other for ever.
std::optional<Replay> replay(const PipelineShape& shape, const std::vector<TaskOrder>& orders);

/// Most (micro-batch, chunk) activations that an order stores at once, from F to W.
int peak_stored(const TaskOrder& order);

/// Whether what an order of a rank stores keeps to the shape's limits.
bool fits(const PipelineShape& shape, int rank, const TaskOrder& order);

/// Seconds of a task; a backward is B and W in one.
double task_seconds(const PipelineShape& shape, const Task& task);

/// No order within the shape's memory limits ends before this. On each rank: all its work after its
/// first input comes; and all its B and W after its first gradient comes, with as many F before as
/// time and memory allow. On each port all its transfers.
double makespan_bound(const PipelineShape& shape);

}  // namespace pptrain
