#pragma once

#include <mpi.h>

#include <vector>

#include "comm/waiter.hpp"
#include "probe/probed_nodes.hpp"

namespace pptrain {

/// Replaces latencies between ranks that share cores by what a message takes when all of them are
/// busy: inside nodes, and between nodes of a pool; and measures what messages cost the cores.
/// Collective over `world`.
void measure_shared_latencies(MPI_Comm world, Waiter& waiter, const std::vector<CorePool>& pools,
                              std::vector<ProbedNode>& nodes);

}  // namespace pptrain
