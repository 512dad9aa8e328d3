#pragma once

#include <string>

#include "config/config.hpp"
#include "model/model.hpp"
#include "runtime/rank_device.hpp"

namespace pptrain {

/// What of a model is computed on the host alone, as a message says it; "": nothing.
std::string what_needs_host(const Model& model);

/// Refuses (`Error`, exit code 2) a model with operators that only the host computes where a rank has a GPU. All ranks
/// decide alike.
void check_operators(const Config& config, const Model& model, const RankDevice& device);

}  // namespace pptrain
