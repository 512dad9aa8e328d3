#pragma once

#include <string>
#include <vector>

#include "schedule/pipeline_shape.hpp"
#include "schedule/schedule.hpp"

namespace pptrain {

/// The order of every rank by the schedule of this name. Pure: equal shapes give equal orders.
/// Throws `Error` (exit code 2) where the schedule does not run on such a shape.
std::vector<TaskOrder> orders_of(const std::string& schedule, const PipelineShape& shape);
/// The order of every rank by the schedule of this name, and the work that it took. Throws `Error`
/// (exit code 2) where the schedule does not run on such a shape.
FoundOrders find_orders(const std::string& schedule, const PipelineShape& shape);

/// All forwards, then all backwards. One chunk per rank.
std::vector<TaskOrder> gpipe_orders(const PipelineShape& shape);

/// DAPPLE's early backward scheduling (Section 3.2 and Table I): rank r warms up with K forwards,
/// then alternates. Policy A: K = min(p - r, D); policy B: K = min(2 (p - r) - 1, D), D what memory
/// holds.
enum class WarmUp { policy_a, policy_b };
std::vector<TaskOrder> one_f_one_b_orders(const PipelineShape& shape, WarmUp policy);

/// Interleaved 1F1B (Narayanan et al. 2021, Section 2.2): micro-batches in groups of p, which go
/// through all chunks of a rank one after another. Where p does not divide m, groups of p and more.
std::vector<TaskOrder> interleaved_orders(const PipelineShape& shape);

/// Breadth-first (Lamy-Poirier 2023): all micro-batches through one chunk before the next,
/// backwards in the opposite order.
std::vector<TaskOrder> breadth_first_orders(const PipelineShape& shape);

}  // namespace pptrain
