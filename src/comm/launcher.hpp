#pragma once

#include <optional>
#include <vector>

namespace pptrain {

// What is known before MPI is up, which may set some of the variables that tell it.

/// The rank that a launcher (mpirun, srun) gave this process; nothing where none has started it.
/// Slurm's own variables describe the launcher's step under mpirun, so they are not read.
std::optional<int> launched_rank();

/// How many ranks that launcher started; 1 where none has.
int num_launched_ranks();

/// How many of them are on this host; all where the launcher does not say.
int num_ranks_of_host();

/// Whether the launcher is Open MPI's mpirun.
bool launched_by_mpirun();

/// A rank of this job whose process is stopped (SIGSTOP, a debugger).
struct StoppedRank {
  int rank;
  int process;
};

/// The stopped ranks of this host, ascending, where launcher and system tell of them.
std::vector<StoppedRank> stopped_ranks();

}  // namespace pptrain
