#include <algorithm>

#include "cuda/launch.hpp"
#include "cuda/member_sums.hpp"

namespace pptrain::cuda {
namespace {

constexpr std::size_t threads_of_block = 256, most_blocks_of_sum = 1024;

__global__ void sum_elements(const BFloat16* parts, std::size_t members, std::size_t n,
                             BFloat16* sums) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += step) {
    float sum = 0;
    for (std::size_t m = 0; m < members; ++m) sum += parts[m * n + i];
    store(sums[i], sum);
  }
}

}  // namespace

void sum_members(cudaStream_t stream, const BFloat16* parts, std::size_t members, std::size_t n,
                 BFloat16* sums) {
  if (n == 0) return;
  const std::size_t blocks =
      std::min(most_blocks_of_sum, (n + threads_of_block - 1) / threads_of_block);
  launch(stream, static_cast<unsigned>(blocks), static_cast<unsigned>(threads_of_block), 0,
         sum_elements, parts, members, n, sums);
}

}  // namespace pptrain::cuda
