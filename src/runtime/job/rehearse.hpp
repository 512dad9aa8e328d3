#pragma once

#include <mpi.h>

#include "comm/waiter.hpp"
#include "config/config.hpp"
#include "runtime/places/job_options.hpp"

namespace pptrain {

/// A job on a cluster with `emulate = "timing"`: plans as any other and runs the plan without
/// numbers. The model may be one that cannot be trained, and needs no data. Collective over
/// `world`.
void rehearse(MPI_Comm world, Waiter& waiter, const JobOptions& options, const Config& config);

}  // namespace pptrain
