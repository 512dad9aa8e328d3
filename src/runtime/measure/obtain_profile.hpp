#pragma once

#include <mpi.h>

#include <optional>

#include "plan/plan.hpp"
#include "profile/profile.hpp"
#include "runtime/places/job_setup.hpp"

namespace pptrain {

/// The profile of a job on emulated devices: nothing is measured on this machine. Collective.
Profile profile_without_machine(MPI_Comm world, Waiter& waiter, const JobOptions& options,
                                const Config& config, const Machine& machine);

/// The profile: from a file, the cache, or measured with progress on rank 0, at the degrees of the
/// named plan or else those that plans may have; the above on emulated devices. Collective.
Profile obtain_profile(const JobSetup& job, const std::optional<Plan>& named);

}  // namespace pptrain
