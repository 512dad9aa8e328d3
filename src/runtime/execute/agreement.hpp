#pragma once

#include <mpi.h>

#include "comm/waiter.hpp"
#include "cost/cost.hpp"
#include "schedule/schedule.hpp"

namespace pptrain {

// Programs are compiled on every rank. What they depend on beside the plan is computed on rank 0
// for all: hosts whose floating-point units round differently still make the same programs.

/// What the task orders of a plan go by, to the last bit. Collective.
OrderOptions agreed_order_options(MPI_Comm world, Waiter& waiter, const Instance& instance,
                                  const Plan& plan);

/// `cheapest_forms`. Collective.
TransferForms agreed_forms(MPI_Comm world, Waiter& waiter, const Instance& instance,
                           const Plan& plan);

}  // namespace pptrain
