#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "comm/waiter.hpp"
#include "config/config.hpp"
#include "runtime/places/job_options.hpp"
#include "runtime/places/rank_device.hpp"
#include "runtime/places/role.hpp"

namespace pptrain {

/// The machine of a job and what the planner needs to know of it. The same on every rank.
struct Machine {
  Cluster cluster;
  RankMap map = RankMap::identity(0);
  CoreUse core_use = CoreUse::own;
  std::string gpus = {};  ///< a table for people of the ranks' GPUs; "" where no rank has one
  std::vector<std::string> hosts = {};  ///< that the ranks are on, whatever the cluster file says;
                                        ///< by rank, each once
};

/// For people: the cluster, and the ranks' GPUs.
std::string describe_machine(const Machine& machine);

/// The node of each rank.
std::vector<int> nodes_of_ranks(const Machine& machine);

/// What this rank computes with in a job: the host where the cluster's devices are emulated.
/// Collective.
RankDevice find_device(MPI_Comm world, Waiter& waiter, const JobOptions& options,
                       const Config& config);

/// The cluster of the job: found, or read from `file`, whose devices must then be as many as there
/// are ranks; ranks drive devices of the node with their host's name (`match_hosts`) unless devices
/// are emulated. `device`: what this rank computes with. Collective.
Machine find_machine(MPI_Comm world, Waiter& waiter, const std::string& file,
                     const RankDevice& device = {});
/// The cluster of the job: found, or read from the file that the job names, with the memory set
/// aside that GPUs of it usually lack. `device`: what this rank computes with. Collective.
Machine find_machine(MPI_Comm world, Waiter& waiter, const JobOptions& options,
                     const Config& config, const RankDevice& device = {});

}  // namespace pptrain
