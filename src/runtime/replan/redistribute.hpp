#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "runtime/execute/session.hpp"

namespace pptrain {

/// What one rank did.
struct Redistributed {
  std::int64_t bytes_sent = 0;
  std::int64_t bytes_received = 0;
  std::int64_t bytes_kept = 0;  ///< needed and held before: copied, not sent
  double seconds = 0.0;
};

/// Fills weights and optimizer state of session `to` from those of `from`, whose plan may be any
/// other of the same job: other layers, shards, ZeRO stages or ranks. A rank holds both of its own
/// parts, and some MiB of messages, at once, never the whole model. Each byte goes once to every
/// rank that needs it and does not hold it.
///
/// `nodes[r]` is the node of rank r. A failure of one rank is thrown by all. Collective over
/// `world`.
Redistributed redistribute(MPI_Comm world, Waiter& waiter, const Model& model,
                           const std::vector<int>& nodes, Session& from, Session& to);

}  // namespace pptrain
