#pragma once

#ifdef PPTRAIN_HAVE_CUDNN

#include "cuda/cudnn_graph.hpp"

/// Attention as graphs that cuDNN's fused engines know.
namespace pptrain::cuda {

struct CudnnAttentionShape {
  std::int64_t samples, length, heads, head_size;
  std::int64_t keys;       ///< positions of a sample's keys
  std::int64_t key_heads;  ///< each of as many query heads, next to one another
  bool causal;             ///< false: every position sees all keys
  std::int64_t window;     ///< position t sees (t - window, t]; 0: all up to t
  std::int64_t q_stride, k_stride, v_stride, out_stride;  ///< of rows, in elements; of the
                                                          ///< gradients too
  cudnnDataType_t type;

  auto operator<=>(const CudnnAttentionShape&) const = default;
};

/// softmax(scale q k^T) v over the keys that are seen, and the log of the sum of exponentials.
struct CudnnForward {
  CudnnGraph graph;
  CudnnTensor q, k, v, scale, out, log_sum;
  std::optional<CudnnTensor> lowest, window;  ///< scalars of causal attention, of one with a window

  explicit CudnnForward(const CudnnAttentionShape& shape);
};

/// The gradients of q, k and v (Dao et al., arXiv:2205.14135, algorithm 4).
struct CudnnBackward {
  CudnnGraph graph;
  CudnnTensor q, k, v, out, dout, log_sum, scale, one, dq, dk, dv;
  std::optional<CudnnTensor> lowest, window;
  CudnnTensor delta, dq_sums;  ///< scratch in fp32: (samples, heads, length), and with head_size;
                               ///< dq_sums zero before
  /// Scratch (samples, heads, length, head_size): the gradients by query head, where these share
  /// key heads.
  std::optional<CudnnTensor> dk_parts, dv_parts;

  explicit CudnnBackward(const CudnnAttentionShape& shape);
};

}  // namespace pptrain::cuda

#endif
