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
  std::vector<int> nodes;  ///< the cluster's nodes that the plan uses, by the first rank that each has
};

LaunchOrder launch_order(const Plan& plan, const Cluster& cluster);

/// `ranks.tsv`: a line per rank with node, local rank, stage, replica, member and the plan's device.
ExportFile ranks_file(const LaunchOrder& order);

/// `hosts.txt`: the host name of each node in the order of `ranks.tsv`, with the kind of its devices. Names that the
/// cluster does not say are "HOST-0" and so on.
ExportFile hosts_file(const LaunchOrder& order, const Cluster& cluster);

/// Whether the cluster says the host name of every node that is used.
bool knows_hosts(const LaunchOrder& order, const Cluster& cluster);

/// `job.sbatch`: starts `rank.sh` once per rank on the hosts of `hosts.txt`.
ExportFile sbatch_file(const ExportedPlan& exported, const LaunchOrder& order);

/// `rank.sh`: gives a process its rank, local rank and the address of rank 0, then becomes `command`, shell text that
/// may use `$here`, the folder, and "$@".
ExportFile rank_script(const std::string& command);

}  // namespace pptrain
