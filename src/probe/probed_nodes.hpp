#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "probe/core_pools.hpp"
#include "probe/gpu_neighbours.hpp"
#include "probe/peak_rates.hpp"
#include "probe/rank_hosts.hpp"

namespace pptrain {

/// The ranks of a host that compute with one kind of device: a node of the cluster. A host with
/// several kinds is several nodes.
struct ProbedNode {
  HostReport host;
  std::optional<GpuInfo> gpu;  ///< of the first rank; nothing: they compute with the host
  int leader = 0;              ///< lowest rank of the host
  std::vector<int> ranks;      ///< in the order of their devices
  double memory_bytes = 0.0;   ///< memory of a GPU that each rank may fill (`usable_bytes`)
  double reserve_bytes = 0.0;  ///< the rest of its part of the GPU's memory
  Link link;
  Link uplink;
  Link host_link;
  CoreSeconds core_seconds;
  PeakRates rates;       ///< of a core of the host
  std::string features;  ///< that Slurm gives the host
};

/// Nodes of one host follow one another, hosts in the order of their lowest ranks.
std::vector<ProbedNode> probed_nodes(const std::vector<RankHost>& ranks);

/// Nodes by the host that they are on: where each one's begin, and behind the last.
std::vector<std::size_t> host_starts(const std::vector<ProbedNode>& nodes);

/// Who computes on what is shared: cores as `core_pools_of` says, GPUs alike.
std::vector<CorePool> device_pools(const std::vector<RankHost>& ranks,
                                   const std::vector<ProbedNode>& nodes);

const CorePool& pool_of(const std::vector<CorePool>& pools, const ProbedNode& node);

/// Bytes of a GPU that all its ranks together may fill: what is free beside their contexts, less
/// what NCCL, cuBLASLt and the modules of kernels take later.
double usable_bytes(const GpuInfo& gpu);

/// One pair of ranks for each way in which two of a node's devices reach each other.
std::vector<std::pair<int, int>> different_pairs(const ProbedNode& node,
                                                 const GpuNeighbours& neighbours);

}  // namespace pptrain
