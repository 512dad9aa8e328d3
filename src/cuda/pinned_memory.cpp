#include "cuda/pinned_memory.hpp"

#include "cuda/check.hpp"

namespace pptrain {

void* PinnedMemory::allocate(std::size_t bytes) {
  void* block = nullptr;
  const std::size_t size = bytes == 0 ? 1 : bytes;
  const cudaError_t status = cudaHostAlloc(&block, size, cudaHostAllocPortable);
  if (status == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();  // the caller deals with it
    return nullptr;
  }
  if (status != cudaSuccess) {
    cuda::fail_call("cudaHostAlloc", "size", cuda::values_text(size), cuda::status_text(status));
  }
  return block;
}

void PinnedMemory::free(void* block) { PPTRAIN_CUDA_OR_WARN(cudaFreeHost, block); }

}  // namespace pptrain
