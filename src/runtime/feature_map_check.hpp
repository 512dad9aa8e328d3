#pragma once

#include "config/config.hpp"
#include "model/model.hpp"
#include "runtime/rank_device.hpp"

namespace pptrain {

/// Refuses (`Error`, exit code 2) a model with feature maps where a rank has a GPU: convolutions, pooling and batch
/// norms are computed on the host alone. All ranks decide alike.
void check_feature_maps(const Config& config, const Model& model, const RankDevice& device);

}  // namespace pptrain
