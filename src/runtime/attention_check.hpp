#pragma once

#include "config/config.hpp"
#include "model/model.hpp"
#include "runtime/rank_device.hpp"

namespace pptrain {

/// Whether a model has attention that only the host computes: to the rows of a source, or with a bias by distance.
bool needs_host_attention(const Model& model);

/// Refuses (`Error`, exit code 2) such a model where a rank has a GPU. All ranks decide alike.
void check_attention(const Config& config, const Model& model, const RankDevice& device);

}  // namespace pptrain
