#pragma once

#include <string>
#include <vector>

#include "export_plan/export_plan.hpp"

namespace pptrain {

/// A process of the trainer: a place in the grid of the plan, on a device.
struct ExportRank {
  int node = 0;        ///< as `LaunchOrder::nodes` counts them
  int local_rank = 0;  ///< which device of its node
  int stage = 0;
  int replica = 0;
  int member = 0;  ///< of the tensor-parallel group
  DeviceId device;
};

/// The processes by their ranks: member by member, then replica by replica, then stage by stage.
struct LaunchOrder {
  std::vector<ExportRank> ranks;
  std::vector<int> nodes;  ///< the cluster's nodes that the plan uses, by the first rank that each
                           ///< has
};

LaunchOrder launch_order(const Plan& plan, const Cluster& cluster);

/// `ranks.tsv`: a line per rank with node, local rank, stage, replica, member and the plan's
/// device.
ExportFile ranks_file(const LaunchOrder& order);

/// `hosts.txt`: the host name of each node in the order of `ranks.tsv`, with the kind of its
/// devices. Names that the cluster does not say are "HOST-0" and so on.
ExportFile hosts_file(const LaunchOrder& order, const Cluster& cluster);

/// The host names that `hosts.txt` has, by node.
std::vector<std::string> host_names(const LaunchOrder& order, const Cluster& cluster);

/// A batch script up to where `here` is its folder and the array `names` has the hosts. `tasks`:
/// how many tasks Slurm is to start, as an option of sbatch.
std::string sbatch_head(const ExportedPlan& exported, const LaunchOrder& order,
                        const std::string& tasks);

/// `rank.sh`, `ranks.tsv`, `hosts.txt` and `job.sbatch`. The first gives a process its rank, local
/// rank and the address of rank 0, then becomes `command`, shell text that may use `$here`, the
/// folder, and "$@"; the last starts it once per rank on the hosts.
std::vector<ExportFile> launch_scripts(const ExportedPlan& exported, const LaunchOrder& order,
                                       const std::string& command);

}  // namespace pptrain
