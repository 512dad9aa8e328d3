#pragma once

#include <map>
#include <string>
#include <vector>

namespace pptrain {

/// What Slurm says of the node that this process runs on; empty outside of its jobs.
struct SlurmPlace {
  std::string node;                   ///< Slurm's name of it
  std::vector<std::string> switches;  ///< above it, from the top
};

/// By SLURMD_NODENAME and SLURM_TOPOLOGY_ADDR, which are each node's own under srun and mpirun;
/// numbers of tasks, as SLURM_PROCID, are not: under mpirun they count its daemons.
SlurmPlace slurm_place();

/// The features that the site gives these nodes, as "skylake,ib", by node: from scontrol, asked for
/// at most 10 seconds. Empty outside of Slurm's jobs, or where scontrol does not answer.
std::map<std::string, std::string> slurm_features(const std::vector<std::string>& nodes);

}  // namespace pptrain
