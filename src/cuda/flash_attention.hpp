#pragma once

#include <cstddef>

#include "cuda/compute_stream.hpp"
#include "tensor/tensor.hpp"

/// Causal self-attention by kernels of our own, for every type and GPU (Dao, FlashAttention-2, arXiv:2307.08691): a
/// block holds a tile of queries or of keys, the scores exist a tile at a time. Sums are fp32, in a fixed order,
/// without atomic additions. C++17.
namespace pptrain::cuda {

struct FlashShape {
  std::size_t samples, length, heads, head_size;
  float scale;
};

/// The largest head whose tiles every GPU's shared memory holds.
constexpr std::size_t most_head_size = 256;

/// qkv (R, 3 * heads * head_size), out (R, heads * head_size); log_sum (samples, heads, length).
void flash_forward(ComputeStream& stream, const FlashShape& shape, const Matrix& qkv, const Matrix& out,
                   float* log_sum);
/// dqkv, laid out as qkv; delta, of log_sum's size, is scratch.
void flash_backward(ComputeStream& stream, const FlashShape& shape, const Matrix& qkv, const Matrix& out,
                    const float* log_sum, const Matrix& dout, const Matrix& dqkv, float* delta);

}  // namespace pptrain::cuda
