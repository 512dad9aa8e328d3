#pragma once

#include "config/config.hpp"

namespace pptrain {

/// Refuses keys that are fine one by one and contradict each other. Throws `Error` (exit code 2)
/// with the place of the key to change.
void check_config(const Config& config);

}  // namespace pptrain
