#pragma once

#include <mpi.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/waiter.hpp"

namespace pptrain {

/// All ranks meet; those that come early sleep instead of spinning. Collective.
void quiet_barrier(MPI_Comm comm, Waiter& waiter);

/// Text from rank 0 to all ranks, which sleep until it comes and name who has not handed it on.
/// Collective.
std::string broadcast(MPI_Comm comm, const std::string& text, Waiter& waiter);

/// The text of every rank, in rank order, on rank 0 (elsewhere empty), which sleeps until they have
/// come and names who has not. Collective.
std::vector<std::string> gather(MPI_Comm comm, const std::string& text, Waiter& waiter);

/// The doubles of every rank, in rank order, on rank 0 (elsewhere empty), which sleeps until they
/// have come and names who has not. Collective.
std::vector<double> gather(MPI_Comm comm, const std::vector<double>& values, Waiter& waiter);

/// The doubles of every rank, in rank order, on all ranks, which sleep until they have come and
/// name who has not. Collective.
std::vector<double> gather_to_all(MPI_Comm comm, const std::vector<double>& values, Waiter& waiter);

/// The `Error` that work throws on this rank, also where the host has no memory for it (exit code
/// 4) or a library throws what it likes (1); nothing when it ends well.
std::optional<Error> error_of(const std::function<void()>& work);

/// Runs work that may fail on some ranks only. If it ends with an error (`error_of`) anywhere,
/// every rank throws that of the lowest rank that failed (`ThrownBy::all_ranks`): nobody is left
/// waiting for a rank that has gone. Collective; `work` itself must not communicate, unless it
/// fails on all ranks or on none and the waiter heeds no pulse.
void collectively(MPI_Comm comm, Waiter& waiter, const std::function<void()>& work);

/// Throws the error of the lowest rank that has one on every rank (`ThrownBy::all_ranks`), for work
/// that is done, or that has communicated; returns where no rank has one. Collective.
void share_error(MPI_Comm comm, Waiter& waiter, const std::optional<Error>& error);

}  // namespace pptrain
