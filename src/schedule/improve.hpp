#pragma once

#include "schedule/pipeline_shape.hpp"
#include "schedule/schedule.hpp"

namespace pptrain {

/// Moves single tasks to near-by places of their rank's order, at random and keeping what is not
/// slower by replay, until `bound` is met or `work` tasks were replayed. Memory limits hold before
/// and after. Deterministic: the random numbers start from `seed`. Returns the makespan.
double improve_orders(const PipelineShape& shape, double bound, long work, unsigned seed,
                      std::vector<TaskOrder>& orders);

}  // namespace pptrain
