#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "base/bfloat16.hpp"

namespace pptrain::cuda {

/// sums[i] = what the members hold of element i, added up in fp32 in their order and rounded once;
/// parts (members, n). On the stream.
void sum_members(cudaStream_t stream, const BFloat16* parts, std::size_t members, std::size_t n,
                 BFloat16* sums);

}  // namespace pptrain::cuda
