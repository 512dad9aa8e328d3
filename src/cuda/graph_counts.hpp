#pragma once

#include <cstdint>

namespace pptrain {

/// What became of the calls to a GPU that uses CUDA graphs.
struct GraphCounts {
  std::uint64_t calls = 0;            ///< kernels, products, copies
  std::uint64_t calls_in_graphs = 0;  ///< of these, by launches of graphs
  std::uint64_t launches = 0;         ///< of graphs
  std::uint64_t graphs = 0;           ///< made
};

}  // namespace pptrain
