#pragma once

#include <mpi.h>

#include <optional>
#include <vector>

namespace pptrain {

/// The socket of the host on whose cores alone this process may run, counted from 0 as hwloc does; nothing where the
/// host has one socket, or the process may run on several.
std::optional<int> own_socket();

/// The ranks of a host socket by socket, those of each in order, so that devices whose numbers are close, as those of a
/// tensor-parallel group are, share one. `sockets`: of all ranks, by rank.
std::vector<int> socket_by_socket(std::vector<int> ranks, const std::vector<std::optional<int>>& sockets);

/// `own_socket` of every rank, on all ranks. Collective.
std::vector<std::optional<int>> all_sockets(MPI_Comm world);

}  // namespace pptrain
