#pragma once

#include <cstdint>

#include "tensor/tensor.hpp"

/// Kernels of the host back end, launched by Kokkos. Rows are tokens: R = samples * sequence length.
/// Activations ("T") are f32 or bf16 by the matrix's type; parameters of LayerNorm, biases,
/// statistics and everything on the residual stream are f32. Arithmetic is fp32.
///
/// Every output element is computed in a fixed order, so that two runs agree bit for bit. A NaN that
/// goes into a result comes out of it. What is called an output is never read before it is written.
namespace pptrain::kernels {

/// sum = x + y + bias, then normalised = LayerNorm(sum) * gain + offset (eps 1e-5, biased variance).
///
/// x (R, H) f32; y (R, H) f32 and bias (H), or null data: sum = x, nothing is added or written.
/// sum (R, H) f32; normalised (R, H) T; mean, rstd (R).
void residual_layer_norm_forward(const Matrix& x, const Matrix& y, const float* bias, const Matrix& sum,
                                 const float* gain, const float* offset, const Matrix& normalised, float* mean,
                                 float* rstd);

/// dx = residual_gradient + dLayerNorm/dx; adds to the gradients of gain and offset, and writes the
/// forward's normalised output again, which the weight gradient needs (recomputed, not stored).
///
/// dnormalised (R, H) T or f32; x (R, H) f32 is the LayerNorm's input; residual_gradient (R, H) f32
/// or null data; dx (R, H) f32 may be residual_gradient; normalised (R, H) T or null data.
void layer_norm_backward(const Matrix& dnormalised, const Matrix& x, const float* mean, const float* rstd,
                         const float* gain, const float* offset, const Matrix& residual_gradient, const Matrix& dx,
                         float* dgain, float* doffset, const Matrix& normalised);

/// out = x + y + bias; all (R, H) f32.
void residual_add(const Matrix& x, const Matrix& y, const float* bias, const Matrix& out);

/// out = gelu(u), tanh form. u, out (R, C) T.
void gelu_forward(const Matrix& u, const Matrix& out);

/// du = dout * gelu'(u), and out = gelu(u) again for the weight gradient. du may be dout, out may be u. All (R, C) T.
void gelu_backward(const Matrix& u, const Matrix& dout, const Matrix& du, const Matrix& out);

/// gradient[c] += sum over rows of d (R, C), T or f32: the gradient of a bias.
void add_column_sums(const Matrix& d, float* gradient);

/// x = token_embedding[token] + position_embedding[position]; tokens outside [first, first + rows of
/// the shard) contribute 0 from the token part, and the position part is added only by the shard
/// that `add_position` names, so that the sum over shards is right.
/// tokens (R); token_embedding (V_shard, H) f32; position_embedding (T, H) f32; x (R, H) f32.
void embedding_forward(const std::uint16_t* tokens, std::size_t sequence_length, const Matrix& token_embedding,
                       std::int64_t first_token, const Matrix& position_embedding, bool add_position, const Matrix& x);

/// Adds to the gradients of both embeddings, row after row. dposition_embedding (T, H), or null data on
/// the shards that do not add positions.
void embedding_backward(const std::uint16_t* tokens, std::size_t sequence_length, const Matrix& dx,
                        std::int64_t first_token, const Matrix& dtoken_embedding, const Matrix& dposition_embedding);

/// Causal self-attention over `samples` sequences, flash style: forward keeps per row and head only
/// the log of the sum of exponentials, backward recomputes the probabilities a tile at a time.
///
/// qkv (R, 3 * heads * head_size) T: q, k, v of all heads side by side; out (R, heads * head_size) T;
/// log_sum (R * heads) f32, heads of a row side by side. Scale 1/sqrt(head_size). The workspace holds
/// copies of one head and the scores of 48 queries: less than 8 T head_size + 96 (T + 32) floats.
void attention_forward(const Matrix& qkv, std::size_t samples, std::size_t sequence_length, std::size_t heads,
                       const Matrix& out, float* log_sum, Arena& workspace);

/// dqkv from dout, with out and log_sum as the forward left them. dqkv (R, 3 * heads * head_size) T.
void attention_backward(const Matrix& qkv, const Matrix& out, const float* log_sum, const Matrix& dout,
                        std::size_t samples, std::size_t sequence_length, std::size_t heads, const Matrix& dqkv,
                        Arena& workspace);

/// Cross-entropy over a vocabulary shard, in two parts with a reduction of the group in between
/// (Megatron's vocabulary-parallel loss). logits (R, V_shard) f32.
///
/// Part 1: row_max (R) of this shard. NaNs are skipped here and found by part 2.
void cross_entropy_max(const Matrix& logits, float* row_max);
/// Part 2, with row_max of all shards: row_sum (R) of exp(logit - max) over this shard, and
/// target_logit (R), 0 where the target lies in another shard.
void cross_entropy_sum(const Matrix& logits, const std::int32_t* targets, std::int64_t first_class,
                       const float* row_max, float* row_sum, float* target_logit);
/// Part 3, with sums of all shards: logits become their own gradient, (softmax - onehot) * scale.
void cross_entropy_gradient(const Matrix& logits, const std::int32_t* targets, std::int64_t first_class,
                            const float* row_max, const float* row_sum, float scale);
/// The sum over rows of log(row_sum) + row_max - target_logit, in double.
double cross_entropy_loss(const float* row_max, const float* row_sum, const float* target_logit, std::size_t rows);

/// y += x, n elements.
void add(const float* x, float* y, std::size_t n);
/// x *= factor.
void scale(float* x, float factor, std::size_t n);
/// Sum of squares in double, in a fixed order.
double sum_of_squares(const float* x, std::size_t n);
/// T to T' element by element.
void convert(const Matrix& from, const Matrix& to);
/// Sets n elements to 0.
void fill_zero(float* x, std::size_t n);

/// Everything AdamW needs for one step over a run of elements.
struct AdamWStep {
  float learning_rate;
  float beta1;
  float beta2;
  float epsilon;
  float weight_decay;      ///< 0 for LayerNorm and biases
  float gradient_scale;    ///< clipping factor, applied to the gradient as it is read
  float bias_correction1;  ///< 1 - beta1^t
  float bias_correction2;  ///< 1 - beta2^t
};

/// p *= 1 - lr * wd; p -= lr / bc1 * m / (sqrt(v) / sqrt(bc2) + eps). `copy` (bf16) may be null.
void adamw(float* parameter, const float* gradient, float* m, float* v, BFloat16* copy, std::size_t n,
           const AdamWStep& step);
/// p -= lr * scale * g.
void sgd(float* parameter, const float* gradient, BFloat16* copy, std::size_t n, float learning_rate,
         float gradient_scale);

}  // namespace pptrain::kernels
