#pragma once

#include "options.hpp"

namespace pptrain {

/// Whether a command needs MPI and the kernels: it trains, measures or looks at the machine.
bool needs_machine(const Options& options);

/// Runs a command; MPI and Kokkos are up when `needs_machine`. Errors are thrown as `Error`, on
/// every rank alike.
void run_command(const Options& options);

}  // namespace pptrain
