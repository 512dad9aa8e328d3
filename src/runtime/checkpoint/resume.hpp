#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/run/run_directory.hpp"
#include "runtime/checkpoint/block_transfer.hpp"
#include "runtime/places/job_options.hpp"

namespace pptrain {

/// The checkpoint that a job goes on from.
struct Resumed {
  std::string path;
  CheckpointState state;
  std::vector<CheckpointDataset> datasets;  ///< those of the job, where they are in the file
  std::string run_directory;              ///< in which the job goes on; "": it gets one of its own
  std::shared_ptr<RunDirectory> claimed;  ///< that one, on rank 0; nothing: another job runs there
  std::vector<std::string> damaged;  ///< checkpoints of that one that were read and found to be so,
                                     ///< on rank 0
  std::string metrics;               ///< metrics.h5 of the run so far; "": there is none
};

/// The checkpoint that `JobOptions::resume` names, all of it read and checked; of a run directory
/// the newest one that is not damaged, with a warning for each that is; with "latest" that of the
/// job, and nothing where the job has none yet. One that is damaged or of another job throws
/// `Error` (exit code 2). The job goes on in the run directory of the run's newest checkpoint; from
/// an earlier one, or one that lies elsewhere, it gets its own. A run directory is the job's alone
/// before its checkpoints are looked at, unless the job runs dry. Collective.
std::optional<Resumed> find_checkpoint(MPI_Comm world, Waiter& waiter, const JobOptions& options,
                                       const Config& config, const Model& model,
                                       const Dataset& data);

/// Fills what the session holds. Collective; a failure of one rank is thrown by all.
void load_checkpoint(MPI_Comm world, Waiter& waiter, const std::vector<int>& nodes,
                     const Model& model, const Resumed& from, Session& session);

}  // namespace pptrain
