#pragma once

#include <mpi.h>

#include "cluster/cluster.hpp"
#include "comm/communicator.hpp"
#include "comm/waiter.hpp"

namespace pptrain {

/// Bandwidth and latency between two ranks by messages back and forth; the fastest of several
/// counts, since other load only slows them. Both ranks must call it; others must not.
Link measure_link(MPI_Comm comm, int my_rank, int first, int second);

/// Seconds of a small message one way while all ranks of a node exchange messages in pairs, waiting
/// as in training: what a message takes when ranks share cores, the median of many. `peer` is the
/// other rank of the pair, negative for a rank without one. Collective over the node's ranks.
double measure_shared_latency(Transport& transport, Waiter& waiter, bool starts, int peer);

}  // namespace pptrain
