#pragma once

#include <cstdint>
#include <string>

namespace pptrain {

class Hdf5Handle;

/// The attribute that holds the XXH3 (64 bits) of what it is attached to: a dataset's blocks, or
/// the state.
inline constexpr const char* checkpoint_digest_name = "xxh3_64";

/// What a checkpoint holds beside parameters and optimizer state: /state.
struct CheckpointState {
  std::int64_t step = 0;     ///< optimizer steps done
  std::int64_t samples = 0;  ///< the data position: samples taken of the endless sequence of epochs
  std::int64_t seed = 0;     ///< the random state: numbers are a function of (seed, stream, index),
                             ///< Philox 4x32-10
  double loss_scale = 1.0;   ///< of fp16
  std::int64_t good_steps = 0;     ///< steps since `loss_scale` changed
  std::int64_t skipped_steps = 0;  ///< of `step`, those that changed nothing
  std::string data;                ///< fingerprint of the training data
  std::string configuration;       ///< CONFIG.toml, every default written out
  std::string plan;                ///< PLAN.json
  std::string profile;             ///< PROFILE.json that the plan was made and ordered with
  std::string cluster;             ///< CLUSTER.toml that the plan was made and ordered with
};

/// XXH3 (64 bits) of all of it.
std::string state_digest(const CheckpointState& state);

/// Creates the group /state in an open file. Throws `Hdf5Failure`.
void write_checkpoint_state(const Hdf5Handle& file, const CheckpointState& state);

/// Throws `Hdf5Failure`, or `Error` (exit code 2) with the file's path where its digest is not that
/// of what was written.
CheckpointState read_checkpoint_state(const Hdf5Handle& file, const std::string& path);

}  // namespace pptrain
