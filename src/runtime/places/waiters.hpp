#pragma once

#include <mpi.h>

#include "comm/waiter.hpp"

namespace pptrain {

/// A waiter for the time before training. Ranks then wait for each other's measurements and for
/// rank 0's search, which may take minutes and hours, so it heeds a `Pulse`: its timeout,
/// `BlockingTimeout` and from `load_config` on `[job] timeout`, counts from the last sign of a
/// rank. Where MPI lets no thread do that its patience is an hour. Collective.
Waiter preparing_waiter(MPI_Comm world);

/// A waiter for the time before training in which nothing of the ranks' hosts is known: as
/// `preparing_waiter`, but it takes the cores for shared. Not collective.
Waiter first_waiter(MPI_Comm world);

/// A waiter with the patience of an hour, for ranks that compute between messages without a sign.
/// Collective.
Waiter make_waiter(MPI_Comm world);

/// How this rank shares the cores that it may use, as found out with the others. Collective.
CoreUse found_core_use(MPI_Comm world, Waiter& waiter);

}  // namespace pptrain
