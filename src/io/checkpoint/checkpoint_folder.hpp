#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pptrain {

/// The step of a file name step-N.h5; nothing for another name.
std::optional<std::int64_t> step_of_checkpoint(const std::string& path);

/// RUN/checkpoints: a checkpoint appears there whole or not at all.
class CheckpointFolder {
 public:
  /// `run` is the run directory; nothing is made there.
  explicit CheckpointFolder(const std::string& run);

  /// Path that the whole checkpoint of a step has, whether or not there is one.
  std::string file(std::int64_t step) const;
  /// Where the checkpoint of a step is written before it gets its name.
  std::string partial_file(std::int64_t step) const;
  /// Makes the folder and removes what was left half written. Throws `Error` (exit code 4).
  void prepare() const;
  /// Gives the partial file of a step, whose content is on the disk, its name. Throws `Error` (exit
  /// code 4).
  void publish(std::int64_t step) const;
  /// Removes all checkpoints but the `keep` with the most steps. One that cannot be removed is a
  /// warning.
  void remove_old(std::int64_t keep) const;
  /// The checkpoints, most steps first: clocks differ, and copies have new times. Throws `Error`
  /// (exit code 2) where the folder cannot be read.
  std::vector<std::string> files() const;

 private:
  std::string run_;
  std::string path_;
};

/// The checkpoints of a run directory, most steps first. A folder without one throws `Error` (exit
/// code 2).
std::vector<std::string> checkpoints_of_run(const std::string& run);

/// Gives files that were read and found to be damaged another name. Throws `Error` (exit code 4).
void set_aside(const std::vector<std::string>& damaged);

/// The run directories of a job that have checkpoints, the one that wrote one last first. A folder
/// that cannot be read throws `Error` (exit code 2).
std::vector<std::string> runs_with_checkpoints(const std::string& output,
                                               const std::string& job_name);

}  // namespace pptrain
