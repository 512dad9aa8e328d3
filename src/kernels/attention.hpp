#pragma once

#include <string>

#include "tensor/tensor.hpp"

namespace pptrain {

/// Causal self-attention of one device over `samples` sequences, flash style: forward keeps per row and head only
/// the log of the sum of exponentials, backward recomputes the probabilities a tile at a time.
///
/// qkv (R, 3 * heads * head_size) T: q, k, v of all heads side by side; out (R, heads * head_size) T;
/// log_sum (R * heads) f32, laid out as forward and backward of one back end agree on. Scale 1/sqrt(head_size).
class Attention {
 public:
  virtual ~Attention() = default;
  virtual void forward(const Matrix& qkv, std::size_t samples, std::size_t sequence_length, std::size_t heads,
                       const Matrix& out, float* log_sum, Arena& workspace) = 0;
  /// dqkv from dout, with out and log_sum as the forward left them. dqkv (R, 3 * heads * head_size) T.
  virtual void backward(const Matrix& qkv, const Matrix& out, const float* log_sum, const Matrix& dout,
                        std::size_t samples, std::size_t sequence_length, std::size_t heads, const Matrix& dqkv,
                        Arena& workspace) = 0;
  /// For logs: "host, a tile of 48 queries", "cuDNN 9.19".
  virtual std::string name() const = 0;
};

/// The host's. Its workspace holds copies of one head and the scores of 48 queries: less than 8 T head_size + 96 (T +
/// 32) floats. Lives as long as the program.
Attention& host_attention();

}  // namespace pptrain
