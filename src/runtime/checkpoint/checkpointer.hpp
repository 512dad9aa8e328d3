#pragma once

#include <mpi.h>

#include <string>

#include "comm/alarm.hpp"
#include "comm/mpi_communicator.hpp"
#include "io/checkpoint/checkpoint_file.hpp"
#include "runtime/execute/session.hpp"

namespace pptrain {

/// A checkpoint that was written.
struct WrittenCheckpoint {
  std::string path;
  double bytes = 0.0;
  double seconds = 0.0;  ///< until it was on the disk under its name
};

/// Writes the checkpoints of a run.
class Checkpointer {
 public:
  /// What the checkpoints of a run have in common.
  struct Job {
    MPI_Comm world;
    const Config& config;
    const Model& model;
    std::vector<int> nodes;  ///< of the ranks
    std::string run;         ///< the run directory
    CoreUse core_use;
  };

  /// Collective.
  Checkpointer(Job job, Alarm& alarm);

  /// Bytes of values in a checkpoint.
  double bytes() const { return bytes_; }
  /// Writes step-N.h5, N = `state.step`, beside, and gives it its name when all of it is on the
  /// disk. Where that fails on some rank (a full disk), or where some values are no numbers, all
  /// throw `Error` (exit code 4), and the checkpoints before stay as they are. Collective.
  WrittenCheckpoint save(const CheckpointState& state, Session& session);
  /// Removes all but the newest `[checkpoint] keep`: when the last one is known to be sound.
  void remove_old() const;

 private:
  void write(const CheckpointState& state, Session& session);

  Job job_;
  double bytes_;
  Waiter waiter_;
  MpiTransport transport_;  ///< made once: making one waits for all ranks without an end
};

}  // namespace pptrain
