#pragma once

#include "schedule/pipeline_shape.hpp"
#include "schedule/schedule.hpp"

namespace pptrain {

/// Zero-bubble schedules (Qi et al. 2023) by what a rank stores at most: p micro-batches, as 1F1B's
/// first rank, for ZB-H1 and for ZB-V, which has two chunks per rank; 2p for ZB-H2. Less where the
/// shape's memory is less.
enum class ZeroBubble { h1, h2, v };
FoundOrders zero_bubble_orders(const PipelineShape& shape, ZeroBubble kind);

/// The best order found within the memory limits by list scheduling with B and W apart: several
/// policies, then single choices changed as long as it helps (or the work allowed is done).
/// Deterministic.
FoundOrders zero_bubble_orders(const PipelineShape& shape);

}  // namespace pptrain
