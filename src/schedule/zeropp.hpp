#pragma once

#include <vector>

#include "schedule/pipeline_shape.hpp"
#include "schedule/schedule.hpp"

namespace pptrain {

/// Sizes of ZeroPP's scheduling units: as few as there can be of at most U micro-batches, equal up
/// to one, larger ones first. U is the shape's, less where memory is less than U V; 0 stands for 2p
/// - 1, from which on a unit has no bubbles (ZeroPP Section 3.4).
std::vector<int> zeropp_units(const PipelineShape& shape);

/// ZeroPP (Section 3.2): unit by unit, F breadth-first by chunks; B as soon as its gradient comes;
/// W in the bubbles. Chunks in loop placement. Times that differ are met by generation after
/// Section 4 where that is faster.
FoundOrders zeropp_orders(const PipelineShape& shape);

/// ZeroPP's generation (Section 4): W at the end of each unit first; then, as long as it helps, W
/// of the rank that ends last into its largest bubbles, one at a time, those of the bubble's chunk
/// first. Moves no task of `orders` but W. Ends when `work` tasks were replayed.
std::vector<TaskOrder> generate_by_bubbles(const PipelineShape& shape,
                                           std::vector<TaskOrder> orders, long work);

}  // namespace pptrain
