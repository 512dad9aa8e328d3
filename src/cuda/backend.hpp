#pragma once

#include <memory>

#include "comm/direct_groups.hpp"
#include "cuda/graph_counts.hpp"
#include "kernels/backend.hpp"

namespace pptrain {

/// A GPU, and what a rank computes and communicates with on it.
class GpuBackend {
 public:
  virtual ~GpuBackend() = default;
  /// The device with its products, attention and kernels, which live as long as this.
  virtual Backend backend() = 0;
  /// Null where ranks have nothing but MPI.
  virtual DirectGroups* direct() = 0;

  /// From now on kernels, products and copies that come again with the same arguments run as CUDA
  /// graphs.
  virtual void use_graphs() = 0;
  /// Counts from `use_graphs` on, as long as graphs are used; all are 0 without.
  virtual GraphCounts graph_counts() const = 0;
};

/// The GPU of this number among those that the process sees; becomes the calling thread's current
/// one. Throws `Error` (exit code 4) where it cannot be used.
std::unique_ptr<GpuBackend> make_gpu_backend(int ordinal);

}  // namespace pptrain
