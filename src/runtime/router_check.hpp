#pragma once

#include "model/model.hpp"
#include "runtime/rank_device.hpp"

namespace pptrain {

/// Refuses (exit code 2) a model with experts where ranks compute with GPUs.
void check_routers(const Config& config, const Model& model, const RankDevice& device);

}  // namespace pptrain
