#pragma once

#include "config/config.hpp"
#include "model/model.hpp"

namespace pptrain {

/// Refuses what `[data]` and `[training]` say of samples that a model does not have: documents,
/// masks, images, sources. Throws `Error` (exit code 2) with the place of the key.
void check_samples(const Config& config, const Model& model);

}  // namespace pptrain
