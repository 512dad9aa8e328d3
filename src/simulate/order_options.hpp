#pragma once

#include "cost/cost.hpp"
#include "schedule/schedule.hpp"
#include "simulate/prices.hpp"

namespace pptrain {

/// What the task orders of a plan go by, as the simulator prices it; only what its schedule looks
/// at, so that equal options mean equal orders.
/// - Seconds of a chunk: its slowest replica, with recomputation, the collectives of its
/// tensor-parallel group and the
///   gather of what it receives in slices.
/// - Seconds of a cut, each way: the slowest message, or the slowest uplink where many share one.
/// Between nodes, what a
///   stage sends forwards and back shares the uplink.
/// - What the all-reduce of a chunk's gradients takes after its last W.
/// - What a stage may store: what fits beside model state and workspace on the device that has
/// least room, every
///   activation counted as the largest. At least one micro-batch, as no order needs less: whether
///   that fits is seen in the simulated peak (DAPPLE Section 3.2 caps its warm-up K_i by this D).
OrderOptions order_options(const Instance& instance, const Plan& plan);
/// What the task orders of a plan go by, where the prices of the plan's programs and the forms of
/// its transfers are known.
OrderOptions order_options(const Instance& instance, const Plan& plan, const Programs& programs,
                           const Prices& prices, const TransferForms& forms);

}  // namespace pptrain
