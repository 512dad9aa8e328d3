#pragma once

#include "options.hpp"

namespace pptrain {

/// `pptrain generate`: prints a prompt and its continuation.
void run_generate(const Options& options);

}  // namespace pptrain
