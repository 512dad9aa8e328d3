#pragma once

#include "options.hpp"

namespace pptrain {

/// `pptrain simulate`: executes the programs of a plan against a profile and a cluster from files.
void run_simulate(const Options& options);

}  // namespace pptrain
