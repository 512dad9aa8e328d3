#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "base/ids.hpp"
#include "cluster/cluster.hpp"
#include "comm/waiter.hpp"
#include "probe/host.hpp"

namespace pptrain {

/// The machine as the job found it: every rank is a device, hosts are nodes.
struct Discovery {
  Cluster cluster;
  std::vector<RankId> rank_of_device;  ///< devices of a node in rank order, where ranks are bound socket by socket
  std::vector<HostReport> hosts;       ///< of each node
};

/// Finds hosts by the shared-memory split, cores and memory by hwloc, which ranks share cores (core_pools.hpp), the
/// speed of a device by a short matrix product, and links by messages in rounds in which no two measured pairs share a
/// link. Every rank gets the same answer. Collective over `world`.
Discovery discover_cluster(MPI_Comm world, Waiter& waiter);

/// FLOP per second of one core in fp32 matrix products, by the calling thread's CPU time.
double measure_flop_rate();

/// Lower-case words of a CPU's name joined by dashes: "amd-epyc-7763".
std::string device_kind_name(const std::string& cpu_model);

}  // namespace pptrain
