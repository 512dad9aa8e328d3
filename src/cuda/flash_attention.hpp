#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/compute_stream.hpp"
#include "kernels/attention.hpp"
#include "tensor/tensor.hpp"

/// Attention by kernels of our own, for every form, type and GPU (Dao, FlashAttention-2,
/// arXiv:2307.08691): a block holds a tile of queries or of keys, the scores exist a tile at a
/// time. Sums are fp32, in a fixed order, without atomic additions. C++17.
namespace pptrain::cuda {

struct FlashShape {
  std::size_t samples, length, heads, head_size;
  std::size_t key_heads, group, first;  ///< query head j uses key head (first + j) / group
  std::size_t window;                   ///< position t sees (t - window, t]; 0: all up to t
  const std::int32_t* document_begin;   ///< (samples, length), AttentionForm's; null: attention
                                        ///< crosses documents
  float scale, cap;                     ///< AttentionForm's
  bool causal;                          ///< false: every position sees all
  std::size_t keys;                     ///< positions of a sample's keys
  const std::int32_t* seen_keys;        ///< (samples), of which so many are seen; null: all of them
  const float* bias;                    ///< (heads, distances()), AttentionForm's; null: none
  std::size_t shared_bytes;             ///< shared memory that the GPU lets a block have

  PPTRAIN_FUNCTION std::size_t distances() const { return length + keys - 1; }
};

/// The largest head whose tiles every GPU's shared memory holds, the smaller ones where it has 64
/// KiB.
constexpr std::size_t most_head_size = 256;

/// Scratch of the backward pass, in the memory of the device.
struct FlashScratch {
  float* delta;      ///< of log_sum's size
  float* diagonals;  ///< `diagonal_sums` floats, all 0, where the gradient of a bias is wanted,
                     ///< else null
};

/// log_sum is (samples, heads, length). `shape` is that of the call's form on this GPU.
void flash_forward(ComputeStream& stream, const FlashShape& shape,
                   const AttentionForwardCall& call);
/// Writes dq, dk and dv.
void flash_backward(ComputeStream& stream, const FlashShape& shape,
                    const AttentionBackwardCall& call, const FlashScratch& scratch);

/// Floats in which tiles of queries leave the gradient of their bias.
std::size_t diagonal_sums(const FlashShape& shape);
/// Adds what `flash_backward` has left in `diagonals` to the gradient of the bias, (heads,
/// distances()).
void add_bias_gradient(ComputeStream& stream, const FlashShape& shape, const float* diagonals,
                       float* bias_gradient);

}  // namespace pptrain::cuda
