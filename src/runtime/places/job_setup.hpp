#pragma once

#include <mpi.h>

#include "model/model.hpp"
#include "runtime/places/machine.hpp"

namespace pptrain {

/// What every rank of a job has before the job has a profile and a plan. What is referred to
/// outlives it.
struct JobSetup {
  MPI_Comm world;
  Waiter& waiter;
  const JobOptions& options;
  const Config& config;
  const Model& model;
  const Machine& machine;
  const RankDevice& device;
};

}  // namespace pptrain
