#include "cuda/presence.hpp"

#include <cuda_runtime.h>
#include <fmt/format.h>

#ifdef PPTRAIN_HAVE_NCCL
#include <nccl.h>
#endif
#ifdef PPTRAIN_HAVE_CUDNN
#include <cudnn_version.h>
#endif

#include "cuda/check.hpp"

namespace pptrain {
namespace {

/// The number of GPUs, and what CUDA says of it.
struct Count {
  int gpus = 0;
  cudaError_t status = cudaSuccess;
};

Count count_gpus() {
  Count count;
  count.status = cudaGetDeviceCount(&count.gpus);
  if (count.status != cudaSuccess) {
    (void)cudaGetLastError();  // an ordinary answer, no failure of what comes next
    count.gpus = 0;            // without a driver it is -1
  }
  return count;
}

}  // namespace

std::string cuda_build() {
  std::string text = fmt::format("CUDA {}.{}", CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
#ifdef PPTRAIN_HAVE_NCCL
  text += fmt::format(", NCCL {}.{}.{}", NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH);
#endif
#ifdef PPTRAIN_HAVE_CUDNN
  text += fmt::format(", cuDNN {}.{}.{}", CUDNN_MAJOR, CUDNN_MINOR, CUDNN_PATCHLEVEL);
#endif
  return text;
}

int num_gpus() { return count_gpus().gpus; }

std::string why_no_gpu() {
  const Count count = count_gpus();
  if (count.gpus > 0) return "";
  if (count.status == cudaSuccess) return "cudaGetDeviceCount: 0 GPUs";
  return "cudaGetDeviceCount: " + cuda::status_text(count.status);
}

}  // namespace pptrain
