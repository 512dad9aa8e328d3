#pragma once

#include <mpi.h>

#include "cluster/cluster.hpp"

namespace pptrain {

/// Bandwidth and latency between two ranks by messages back and forth; the fastest of several
/// counts, since other load only slows them. Both ranks must call it; others must not.
Link measure_link(MPI_Comm comm, int my_rank, int first, int second);

}  // namespace pptrain
