#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>
#include <utility>

#include "cuda/check.hpp"
#include "cuda/compute_stream.hpp"

/// How kernels start. C++17; nothing here is CUDA's own language, so that tests compile it for the
/// host.
namespace pptrain::cuda {

/// The name of a kernel, for messages.
std::string kernel_name(const void* kernel);
[[noreturn]] void fail_launch(const void* kernel, const cudaLaunchConfig_t& config,
                              cudaError_t status);

/// kernel(arguments...) on `grid` blocks of `block` threads, behind what was called on the stream.
template <class... Parameters, class... Arguments>
void launch(cudaStream_t stream, dim3 grid, dim3 block, std::size_t shared_bytes,
            void (*kernel)(Parameters...), Arguments&&... arguments) {
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  const cudaError_t status =
      cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
  if (status != cudaSuccess) fail_launch(reinterpret_cast<const void*>(kernel), config, status);
}

/// kernel(arguments...) on `grid` blocks of `block` threads, behind what was called on the compute
/// stream.
template <class... Parameters, class... Arguments>
void launch(ComputeStream& stream, dim3 grid, dim3 block, std::size_t shared_bytes,
            void (*kernel)(Parameters...), const Arguments&... arguments) {
  stream.call(
      reinterpret_cast<const void*>(kernel),
      [=](cudaStream_t at) { launch(at, grid, block, shared_bytes, kernel, arguments...); }, grid,
      block, shared_bytes, static_cast<Parameters>(arguments)...);
}

}  // namespace pptrain::cuda
