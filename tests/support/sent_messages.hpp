#pragma once

#include <mpi.h>

#include <functional>

namespace pptrain::test {

/// Told of every message that this rank sends without blocking: how many elements, their type, and
/// the rank of the world that they go to.
using SentObserver = std::function<void(int count, MPI_Datatype type, int to)>;

/// From now on `observer` is told when each has been sent; empty: nobody is.
void observe_sent(SentObserver observer);

}  // namespace pptrain::test
