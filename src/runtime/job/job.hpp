#pragma once

#include <mpi.h>

#include "runtime/execute/device_model.hpp"
#include "runtime/places/job_options.hpp"

namespace pptrain {

/// The whole of `pptrain train`: configuration, cluster, profile, plan, training, summary.
///
/// Bad input that is found before training writes nothing below the output directory. Every rank
/// throws the same `Error`; a dead or stuck peer ends in exit code 4. `layers` makes the modules.
/// Collective over `world`.
void train(MPI_Comm world, const JobOptions& options, const LayerFactory& layers = make_layer);

}  // namespace pptrain
