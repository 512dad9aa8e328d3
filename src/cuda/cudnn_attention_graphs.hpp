#pragma once

#ifdef PPTRAIN_HAVE_CUDNN

#include "cuda/cudnn_graph.hpp"

/// Causal attention as graphs that cuDNN's fused engines know.
namespace pptrain::cuda {

struct CudnnAttentionShape {
  std::int64_t samples, length, heads, head_size;
  std::int64_t qkv_stride, out_stride;  ///< of rows, in elements; of the gradients too
  cudnnDataType_t type;

  auto operator<=>(const CudnnAttentionShape&) const = default;
};

/// softmax(scale q k^T, causal) v, and the log of the sum of exponentials.
struct CudnnForward {
  CudnnGraph graph;
  CudnnTensor q, k, v, scale, lowest, out, log_sum;

  explicit CudnnForward(const CudnnAttentionShape& shape);
};

/// The gradients of q, k and v (Dao et al., arXiv:2205.14135, algorithm 4).
struct CudnnBackward {
  CudnnGraph graph;
  CudnnTensor q, k, v, out, dout, log_sum, scale, lowest, one, dq, dk, dv;
  CudnnTensor delta, dq_sums;  ///< scratch in fp32: (samples, heads, length), and with head_size; dq_sums zero before

  explicit CudnnBackward(const CudnnAttentionShape& shape);
};

}  // namespace pptrain::cuda

#endif
