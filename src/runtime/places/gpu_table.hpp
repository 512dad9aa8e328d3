#pragma once

#include <string>
#include <vector>

#include "probe/gpu_neighbours.hpp"
#include "probe/rank_hosts.hpp"

namespace pptrain {

/// A table for people of which rank computes with which GPU: host, kind, bus, memory (what is free
/// of what there is), NUMA node with the distance from where the rank runs if that is another one,
/// links to the GPUs of the host's other ranks, and who shares it; "" where no rank has a GPU.
std::string describe_gpus(const std::vector<RankHost>& ranks, const GpuNeighbours& neighbours);

}  // namespace pptrain
