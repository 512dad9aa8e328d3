#pragma once

#include <cstdint>

#include "kernels/dropout_mask.hpp"
#include "kernels/targets.hpp"
#include "model/forms.hpp"
#include "tensor/tensor.hpp"

namespace pptrain {

/// A run of elements that an optimizer treats alike, with their state.
struct UpdateRun {
  float* parameter = nullptr;
  const float* gradient = nullptr;
  float* first = nullptr;   ///< AdamW: m
  float* second = nullptr;  ///< AdamW: v; null where an optimizer keeps less
  Matrix copy;              ///< (1, size): the parameters in 16 bits as well, or nothing (f32)
  std::size_t size = 0;
  float weight_decay = 0.0f;  ///< 0 for norms and biases
};

struct UpdateStep;  // kernels/bodies/update_steps.hpp

/// A run of elements of which a sum is formed.
struct ValueRun {
  const float* values = nullptr;
  std::size_t size = 0;
};

/// What one device computes element by element and row by row; products and attention have
/// interfaces of their own. Pointers are to memory of the device, on which calls run in order,
/// perhaps later (`Device`).
///
/// Rows are tokens: R = samples * sequence length. Activations ("T") are f32, bf16 or f16 by the
/// matrix's type; parameters of norms, biases, statistics and everything on the residual stream are
/// f32. Arithmetic is fp32.
///
/// Every output element is computed in a fixed order, so that two runs agree bit for bit. A NaN
/// that goes into a result comes out of it. What is called an output is never read before it is
/// written.
class Kernels {
 public:
  virtual ~Kernels() = default;

  /// sum = x + y + bias, then normalised = the norm of sum.
  ///
  /// x (R, H) f32 or of the type of `normalised`; y (R, H) f32, or null data: sum = x, nothing is
  /// added or written. bias (H), or null: none is added. sum (R, H) of x's type; gain (H); offset
  /// (H), or null: none, always so of an RMSNorm. normalised (R, H) T; mean (R), null of an RMSNorm
  /// and of no other; rstd (R). Heads of d elements side by side, (R, heads * d) without gaps, are
  /// given as (R * heads, d).
  virtual void residual_norm_forward(const NormForm& form, const Matrix& x, const Matrix& y,
                                     const float* bias, const Matrix& sum, const float* gain,
                                     const float* offset, const Matrix& normalised, float* mean,
                                     float* rstd) = 0;

  /// dx = residual_gradient + dnorm/dx; adds to the gradients of gain and offset, and writes the
  /// forward's normalised output again, which the weight gradient needs (recomputed, not stored).
  ///
  /// dnormalised (R, H) T or f32; x (R, H) is the norm's input, f32 or T, mean and rstd as the
  /// forward left them; residual_gradient (R, H) f32 or null data; dx (R, H) of x's type may be
  /// residual_gradient or dnormalised where the types are equal; doffset (H), or null: not
  /// computed; normalised (R, H) T or null data.
  virtual void norm_backward(const NormForm& form, const Matrix& dnormalised, const Matrix& x,
                             const float* mean, const float* rstd, const float* gain,
                             const float* offset, const Matrix& residual_gradient, const Matrix& dx,
                             float* dgain, float* doffset, const Matrix& normalised) = 0;

  /// out = x + y + bias; all (R, H) f32. bias (H), or null: none.
  virtual void residual_add(const Matrix& x, const Matrix& y, const float* bias,
                            const Matrix& out) = 0;

  /// out = f(u). u, out (R, C) T.
  virtual void activation_forward(Activation activation, const Matrix& u, const Matrix& out) = 0;

  /// du = dout * f'(u), and out = f(u) again for the weight gradient. du may be dout, out may be u.
  /// All (R, C) T.
  virtual void activation_backward(Activation activation, const Matrix& u, const Matrix& dout,
                                   const Matrix& du, const Matrix& out) = 0;

  /// out = f(gate) * up, element by element; out may be either. All (R, C) T.
  virtual void gate_forward(Activation activation, const Matrix& gate, const Matrix& up,
                            const Matrix& out) = 0;

  /// dgate = dout * up * f'(gate), dup = dout * f(gate), and out = f(gate) * up again for the
  /// weight gradient. All (R, C) T; each of the three results may take the place of any of the
  /// arguments.
  virtual void gate_backward(Activation activation, const Matrix& gate, const Matrix& up,
                             const Matrix& dout, const Matrix& dgate, const Matrix& dup,
                             const Matrix& out) = 0;

  /// Rotary positions, in place: of each head's elements (i, i + r / 2), i < r / 2, the pair is
  /// turned by the angle of its row's position, which is the row's number modulo sequence_length;
  /// elements from r on stay. x (R, heads * d) T; table (sequence_length, r) f32 with r <= d even:
  /// cosines of the r / 2 angles, then their sines. `back` turns the other way, as gradients are.
  virtual void rotate(const Matrix& x, std::size_t sequence_length, std::size_t heads,
                      const Matrix& table, bool back) = 0;

  /// gradient[c] += sum over rows of d (R, C), T or f32: the gradient of a bias.
  virtual void add_column_sums(const Matrix& d, float* gradient) = 0;

  /// x = token_embedding[token] + position_embedding[position]; tokens outside [first, first + rows
  /// of the shard) contribute 0 from the token part, and the position part is added only by the
  /// shard that `add_position` names, so that the sum over shards is right. tokens (R);
  /// token_embedding (V_shard, H) f32; position_embedding (T, H) f32, or null data: none; x (R, H)
  /// f32.
  virtual void embedding_forward(const std::uint32_t* tokens, std::size_t sequence_length,
                                 const Matrix& token_embedding, std::int64_t first_token,
                                 const Matrix& position_embedding, bool add_position,
                                 const Matrix& x) = 0;

  /// Adds to the gradients of both embeddings, row after row. dposition_embedding (T, H), or null
  /// data on the shards that do not add positions, and where there are none.
  virtual void embedding_backward(const std::uint32_t* tokens, std::size_t sequence_length,
                                  const Matrix& dx, std::int64_t first_token,
                                  const Matrix& dtoken_embedding,
                                  const Matrix& dposition_embedding) = 0;

  /// x = cap tanh(x / cap), T.
  virtual void soft_cap(const Matrix& x, float cap) = 0;
  /// Cross-entropy over a vocabulary shard, in two parts with a reduction of the group in between
  /// (Megatron's vocabulary-parallel loss). logits (R, V_shard) T.
  ///
  /// Part 1: row_max (R) of this shard. NaNs are skipped here and found by part 2.
  virtual void cross_entropy_max(const Matrix& logits, float* row_max) = 0;
  /// Part 2, with row_max of all shards: row_sum (R) of exp(logit - max) over this shard, and
  /// target_logit (R), the sum of target * logit over it. A target below 0 is none: the row's sum
  /// is infinite, by which the other parts leave it out, with a gradient of 0.
  virtual void cross_entropy_sum(const Matrix& logits, const Targets& targets, const float* row_max,
                                 float* row_sum, float* target_logit) = 0;
  /// Parts 1 and 2 of logits that are not divided.
  virtual void cross_entropy_statistics(const Matrix& logits, const Targets& targets,
                                        float* row_max, float* row_sum, float* target_logit) {
    cross_entropy_max(logits, row_max);
    cross_entropy_sum(logits, targets, row_max, row_sum, target_logit);
  }
  /// Part 3, with sums of all shards: logits become their own gradient, (softmax * (1 + 2 z_loss *
  /// logz) - target) * scale with logz = log(row_sum) + row_max, times 1 - (logit / cap)^2 where
  /// they were held within a cap.
  virtual void cross_entropy_gradient(const Matrix& logits, const Targets& targets,
                                      const float* row_max, const float* row_sum,
                                      const LossGradient& gradient) = 0;
  /// All three parts of logits that are not divided, which become their own gradient.
  virtual void cross_entropy_at_once(const Matrix& logits, const Targets& targets, float* row_max,
                                     float* row_sum, float* target_logit,
                                     const LossGradient& gradient) {
    cross_entropy_statistics(logits, targets, row_max, row_sum, target_logit);
    cross_entropy_gradient(logits, targets, row_max, row_sum, gradient);
  }
  /// *loss += the sum over rows with a target of logz - target_logit + z_loss * logz^2, in double.
  virtual void cross_entropy_loss(const float* row_max, const float* row_sum,
                                  const float* target_logit, std::size_t rows, double* loss,
                                  double z_loss) = 0;

  /// out[r][c] = table[r][source[c]]; table (R, B), out (R, C) f32, source (C) less than B.
  virtual void spread_columns(const Matrix& table, const std::int32_t* source,
                              const Matrix& out) = 0;
  /// The gradient of the table: table[r][b] = the sum of x[r][c] over the columns with source[c] =
  /// b, in their order.
  virtual void collect_columns(const Matrix& x, const std::int32_t* source,
                               const Matrix& table) = 0;

  /// y += x, n elements.
  virtual void add(const float* x, float* y, std::size_t n) = 0;
  /// x *= factor.
  virtual void scale(float* x, float factor, std::size_t n) = 0;
  /// x[i] = 0 where the mask drops it, else x[i] / (1 - rate), n elements.
  virtual void dropout(float* x, std::size_t n, const DropoutMask& mask) = 0;
  /// *sum += the squares of n elements, in double.
  void sum_of_squares(const float* x, std::size_t n, double* sum) {
    const ValueRun run = {x, n};
    sums_of_squares(&run, 1, sum);
  }
  /// The same of `count` runs, in their order.
  virtual void sums_of_squares(const ValueRun* runs, std::size_t count, double* sum) = 0;
  /// T to T' element by element.
  virtual void convert(const Matrix& from, const Matrix& to) = 0;
  /// Sets n elements to 0.
  virtual void fill_zero(float* x, std::size_t n) = 0;

  /// A step of an optimizer updates the first of `count` runs: as many as the device updates in one
  /// go. Returns how many, at least one. Runs with copies have them of one type.
  virtual std::size_t update(const UpdateRun* runs, std::size_t count, const UpdateStep& step) = 0;
};

/// The host's, launched by Kokkos.
Kernels& host_kernels();

}  // namespace pptrain
