#pragma once

#include <mpi.h>

#include <string>

#include "cluster/cluster.hpp"
#include "comm/waiter.hpp"
#include "config/config.hpp"
#include "runtime/places/job_options.hpp"

namespace pptrain {

/// Reads the configuration on rank 0 and hands it to all; one that cannot be trained is refused but
/// for a rehearsal. Collective.
Config load_config(MPI_Comm world, Waiter& waiter, const JobOptions& options);

/// The cluster file that the options or else the configuration name; "discover": the machine
/// itself.
std::string cluster_file(const JobOptions& options, const Config& config);

/// Whether the devices of the cluster file are emulated, and how; not those of "discover".
/// Collective.
Emulate emulation_of(MPI_Comm world, Waiter& waiter, const std::string& file);

/// `[job] timeout` of the job's file as this rank finds it, for the time before rank 0 has told;
/// the default where it finds none.
double timeout_of(const JobOptions& options);

}  // namespace pptrain
