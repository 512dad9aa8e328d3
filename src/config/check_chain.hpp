#pragma once

#include "config/config.hpp"

namespace pptrain {

/// Refuses a chain of `[[model.layer]]` whose layers do not follow one another or whose dimensions do not fit. Throws
/// `Error` (exit code 2) with the place of the key to change. Part of `check_config`.
void check_chain(const Config& config);

}  // namespace pptrain
