#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernel.hpp"
#include "stand_in.hpp"

namespace cuda_on_host::ptx {

/// What the threads of launches did.
struct Counts {
  std::uint64_t launches = 0;
  std::uint64_t instructions = 0;  ///< of threads, with those that a predicate left out
  /// Bytes of global memory, each once in a launch: what memory hands over if caches keep it.
  std::uint64_t loaded_bytes = 0, stored_bytes = 0;
  std::uint64_t shared_accesses = 0;  ///< instructions of threads, whatever they load or store
  std::uint64_t barriers = 0;         ///< of blocks

  Counts& operator+=(const Counts& other);
};

struct Launch {
  dim3 grid, block;
  std::uint64_t shared_bytes = 0;      ///< that the launch asks for
  std::vector<std::string> arguments;  ///< the bytes of each
};

struct Outcome {
  Counts counts;
  /// What a GPU leaves undefined, once per instruction: what, where in the PTX and in the sources.
  /// A finding after which a thread cannot go on, such as an access out of bounds, ends the grid.
  std::vector<std::string> findings;
};

/// Executes a kernel, block after block, the threads of a block in turn forwards and backwards from
/// barrier to barrier. Found are: accesses out of bounds, vectors between their boundaries, shared
/// memory that is read before it is written, barriers and shuffles that not all reach whom they are
/// for, and accesses of two threads without a barrier between them, of which one writes. Device
/// memory has to be accessible (`Access`).
Outcome run(const Kernel& kernel, const Launch& launch);

}  // namespace cuda_on_host::ptx
