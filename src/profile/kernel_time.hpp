#pragma once

#include <optional>

#include "model/work.hpp"
#include "profile/gpu_kinds.hpp"
#include "profile/kernel_constants.hpp"
#include "profile/profile.hpp"
#include "profile/runtimes.hpp"

namespace pptrain {

/// What the kernels of one kind of GPU reach in matrix units, and what a runtime does between them.
struct GpuKernels {
  double multiprocessors = 0.0;
  double peak = 0.0;                ///< FLOP per second of the matrix units
  double element_bytes = 2.0;       ///< of a number in a product
  double products = 0.0;            ///< part of the peak that large, aligned products reach
  double attention = 0.0;           ///< part that attention tile by tile reaches, forward
  double attention_backward = 0.0;  ///< part that attention tile by tile reaches, backward
  double scores_products = 0.0;     ///< part that products of stored scores reach
  double scores_forward = 0.0;      ///< times that stored scores are read or written, forward
  double scores_backward = 0.0;     ///< times that stored scores are read or written, backward
  double half_inner = 0.0;    ///< columns of a product that keep the matrix units busy for half of
                              ///< the time
  double unaligned = 1.0;     ///< part that is left where rows of a matrix do not begin at 16 bytes
  double half_aligned = 1.0;  ///< part that is left where rows do not begin at 128 bytes
  double elementwise = 1.0;   ///< what the runtime moves for kernels without products, over what
                              ///< they need to
  double loss = 1.0;          ///< what the runtime moves for the loss, over what it needs to
  double launch_seconds = 0.0;  ///< that a host needs for a kernel
  bool stores_scores = false;
  bool adds_gradients = false;  ///< gradients of weights are added up by kernels of their own
};

/// What kernels reach on a kind of device.
struct Roofline {
  double flop_per_second = 0.0;
  double bytes_per_second = 0.0;
  std::optional<GpuKernels> gpu = std::nullopt;  ///< nothing: the two rates are all that is known
};

/// What kernels of a known kind of GPU reach at `peak` FLOP per second of matrix units, as a
/// runtime has them.
GpuKernels gpu_kernels(const GpuKind& kind, double peak, double element_bytes,
                       const RuntimeTraits& runtime, const KernelConstants& constants);

/// Seconds of a layer with that work for a micro-batch on one of `tensor_parallel` members: the sum
/// over its kernels of max(FLOP / rate, bytes / rate) and a fixed time per launch; of a known GPU
/// as docs/profiles.md says.
LayerSeconds roofline_seconds(const Work& work, const Roofline& roofline, int tensor_parallel,
                              double samples);

}  // namespace pptrain
