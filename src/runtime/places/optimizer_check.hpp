#pragma once

#include "config/config.hpp"
#include "runtime/places/rank_device.hpp"

namespace pptrain {

/// Refuses (`Error`, exit code 2) an optimizer that computes on the host alone where a rank has a
/// GPU: one whose step needs whole parameters (`is_whole_update`). All ranks decide alike.
void check_optimizer(const Config& config, const RankDevice& device);

}  // namespace pptrain
