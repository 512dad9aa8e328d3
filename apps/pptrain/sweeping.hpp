#pragma once

#include "options.hpp"

namespace pptrain {

/// `pptrain sweep`: plans all combinations of what is varied, prints a table of them and writes the
/// files that are asked for.
void run_sweep(const Options& options);

}  // namespace pptrain
