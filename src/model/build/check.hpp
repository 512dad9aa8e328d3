#pragma once

#include "model/model.hpp"

namespace pptrain {

/// Refuses what a job asks of its model beyond what the model has: stages beyond its layers, shards
/// beyond its heads, annotations of layers and an end of documents that are not there. For models
/// whose dimensions are known once they are made (`[model] from`, `[[model.layer]]`); those of
/// other models are looked at with the configuration. Throws `Error` (exit code 2) with the place
/// of the key. Where batch norms or the balance of experts make losses depend on the size of a
/// micro-batch, it refuses one that the configuration leaves open, or that has one value in a
/// channel.
void check_fits(const Config& config, const Model& model);

/// Whether layers sum over all samples of a micro-batch, so that losses depend on its size: batch
/// norms, and the balance of experts where it is part of the loss.
bool sums_over_micro_batches(const Config& config, const Model& model);

/// Refuses (exit code 2) a plan of `source` whose micro-batches are of another size than the
/// configuration's, where losses depend on it.
void check_plan_batches(const Config& config, const Model& model, std::int64_t micro_batch_size,
                        const std::string& source);

/// The model of a configuration, which fits what the job asks of it. Throws as `build_model` and
/// `check_fits` do.
Model build_model_of(const Config& config);

}  // namespace pptrain
