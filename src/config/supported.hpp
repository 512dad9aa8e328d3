#pragma once

#include "config/config.hpp"

namespace pptrain {

/// Refuses what a configuration may say and this version cannot do, so that nothing is ignored
/// silently. Throws `Error` (exit code 2): place and key, what is missing, what to use instead.
/// A feature that is added deletes its line in supported.cpp.
void refuse_unsupported(const Config& config);

}  // namespace pptrain
