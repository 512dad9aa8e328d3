#pragma once

#include <mpi.h>

#include "comm/waiter.hpp"
#include "cost/cost.hpp"
#include "schedule/schedule.hpp"

namespace pptrain {

/// What the task orders of a plan go by, from rank 0 to all ranks, to the last bit: hosts whose floating-point units
/// round differently still make the same orders. Collective.
OrderOptions agreed_order_options(MPI_Comm world, Waiter& waiter, const Instance& instance, const Plan& plan);

}  // namespace pptrain
