#pragma once

#include <memory>

#include "comm/direct_groups.hpp"
#include "kernels/backend.hpp"

namespace pptrain {

/// A GPU, and what a rank computes and communicates with on it.
class GpuBackend {
 public:
  virtual ~GpuBackend() = default;
  /// Of parts that live as long as this.
  virtual Backend backend() = 0;
  /// Null where ranks have nothing but MPI.
  virtual DirectGroups* direct() = 0;
};

/// The GPU of this number among those that the process sees; becomes the calling thread's current one. Throws `Error`
/// (exit code 4) where it cannot be used.
std::unique_ptr<GpuBackend> make_gpu_backend(int ordinal);

}  // namespace pptrain
