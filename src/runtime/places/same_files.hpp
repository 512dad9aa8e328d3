#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "comm/waiter.hpp"
#include "config/config.hpp"

namespace pptrain {

/// What every host reads of a job from its own copies: training and held-back data, the indexes
/// beside them, and the weights that the job starts from; also names of files that are not there,
/// but that would be read if they were. The configuration, plan, profile and cluster are read by
/// rank 0 for all.
std::vector<std::string> files_of_hosts(const Config& config);

/// Refuses (`Error`, exit code 2, on all ranks) files that are not the same on all hosts, with file
/// and hosts. One rank of each host looks at a file, and none where all ranks have one and the
/// same. Collective.
///
/// `paths`: those of rank 0 count. What is compared is the `file_digest`.
void check_same_files(MPI_Comm world, Waiter& waiter, std::vector<std::string> paths);

/// Refuses a checkpoint whose `digest` is not that of all hosts' copies. Collective.
void check_same_digest(MPI_Comm world, Waiter& waiter, const std::string& path,
                       const std::string& digest);

/// The size and XXH3 (64 bits): of the whole file up to 64 MiB, of larger ones of 256 blocks of 256
/// KiB from the first byte to the last; "absent" where there is no regular file. One that cannot be
/// read throws `Error` (exit code 2).
std::string file_digest(const std::string& path);

}  // namespace pptrain
