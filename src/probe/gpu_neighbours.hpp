#pragma once

#include <mpi.h>

#include <map>
#include <string>
#include <vector>

#include "comm/waiter.hpp"
#include "probe/gpu_link.hpp"
#include "probe/nvml.hpp"
#include "probe/rank_hosts.hpp"

namespace pptrain {

/// How each rank's GPU reaches those of the other ranks of its host: [rank][other rank].
using GpuNeighbours = std::vector<std::map<int, GpuLink>>;

/// By NVML, which knows GPUs that a launcher hides from a rank too; where it does not tell, by
/// CUDA's attributes of the GPUs that the rank sees, else by the bridges of PCI. `nvml`: the
/// library. Collective over `world`.
GpuNeighbours find_gpu_neighbours(MPI_Comm world, Waiter& waiter,
                                  const std::vector<RankHost>& ranks,
                                  const std::string& nvml = Nvml::usual_name);

}  // namespace pptrain
