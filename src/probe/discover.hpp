#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "base/ids.hpp"
#include "cluster/cluster.hpp"
#include "comm/waiter.hpp"
#include "probe/gpu_neighbours.hpp"
#include "probe/peak_rates.hpp"
#include "probe/rank_hosts.hpp"

namespace pptrain {

/// The machine as the job found it: every rank is a device, hosts are nodes, or several where their
/// devices are of several kinds.
struct Discovery {
  Cluster cluster;
  /// Devices of a node in rank order, where ranks are bound socket by socket, where they share GPUs
  /// turn by turn.
  std::vector<RankId> rank_of_device;
  std::vector<HostReport> hosts;  ///< of each node
  std::vector<RankHost> ranks;
  GpuNeighbours neighbours;
};

/// Finds hosts by the shared-memory split, cores and memory by hwloc, which ranks share cores
/// (core_pools.hpp), the peak rates of processors by `find_peak_rates`, which one rank of each kind
/// of processor calls, and links by messages in rounds in which no two measured pairs share a link.
/// GPUs are told apart by their UUIDs, whichever of them a rank sees under which number; ranks that
/// share one are devices that share cores. Every rank gets the same answer. `own`: null where this
/// rank computes with the host; `nvml`: the library. Collective over `world`.
Discovery discover_cluster(MPI_Comm world, Waiter& waiter, const ProbedGpu* own = nullptr,
                           const std::string& nvml = Nvml::usual_name,
                           const FindPeakRates& find_peak_rates = measure_peak_rates);

}  // namespace pptrain
