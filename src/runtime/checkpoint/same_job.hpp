#pragma once

#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "config/config.hpp"
#include "io/checkpoint/checkpoint_file.hpp"

namespace pptrain {

/// Refuses (`Error`, exit code 2) the checkpoint of another model, other data, another order of
/// them or another optimizer, saying what differs. `datasets` are those of this job; they get the
/// offsets and digests of the file.
void check_same_job(const std::string& path, const CheckpointHead& head, const Config& config,
                    const std::string& data_fingerprint, std::vector<CheckpointDataset>& datasets);

/// What else differs and changes the numbers, for a message: "optimizer.learning_rate = 0.01 (0.02
/// in the checkpoint)". `micro_batches_count`: whether the size of a micro-batch does
/// (`sums_over_micro_batches`).
std::vector<std::string> changed_settings(const CheckpointState& state, const Config& config,
                                          bool micro_batches_count = false);

/// Whether the job that left the checkpoint had a loss scale; without one
/// `CheckpointState::loss_scale` is 1, which is also a value of the scale.
bool had_loss_scale(const CheckpointState& state);

/// Whether the plan of the checkpoint is what this job would ask for: nothing that the planner goes
/// by was changed, and the devices are such as it was made for.
bool plans_alike(const CheckpointState& state, const Config& config, const Cluster& cluster);

}  // namespace pptrain
