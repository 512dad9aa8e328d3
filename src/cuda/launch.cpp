#include "cuda/launch.hpp"

namespace pptrain::cuda {

std::string kernel_name(const void* kernel) {
#if CUDART_VERSION >= 12030
  const char* name = nullptr;
  if (cudaFuncGetName(&name, kernel) == cudaSuccess && name != nullptr) return name;
#endif
  return "kernel at " + values_text(kernel);
}

void fail_launch(const void* kernel, const cudaLaunchConfig_t& config, cudaError_t status) {
  fail_call(
      "cudaLaunchKernelEx", "kernel, grid, block, shared bytes, stream",
      kernel_name(kernel) + ", " +
          values_text(config.gridDim, config.blockDim, config.dynamicSmemBytes, config.stream),
      status_text(status));
}

}  // namespace pptrain::cuda
