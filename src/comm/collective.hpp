#pragma once

#include <mpi.h>

#include <functional>
#include <string>
#include <vector>

#include "comm/waiter.hpp"

namespace pptrain {

/// All ranks meet; those that come early sleep instead of spinning. Collective.
void quiet_barrier(MPI_Comm comm, Waiter& waiter);

/// Text from rank 0 to all ranks, which sleep until it comes. Collective.
std::string broadcast(MPI_Comm comm, const std::string& text, Waiter& waiter);

/// The text of every rank, in rank order, on rank 0 (elsewhere empty), which sleeps until they have come and names who
/// has not. Collective.
std::vector<std::string> gather(MPI_Comm comm, const std::string& text, Waiter& waiter);

/// The same of doubles, those of one rank after those of another.
std::vector<double> gather(MPI_Comm comm, const std::vector<double>& values, Waiter& waiter);

/// Runs work that may fail on some ranks only. If it throws `Error` anywhere, every rank throws the
/// `Error` of the lowest rank that failed: nobody is left waiting for a rank that has gone.
/// Collective; `work` itself must not communicate unless it fails on all ranks or on none.
void collectively(MPI_Comm comm, Waiter& waiter, const std::function<void()>& work);

}  // namespace pptrain
