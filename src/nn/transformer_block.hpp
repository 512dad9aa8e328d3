#pragma once

#include <vector>

#include "nn/linear.hpp"

namespace pptrain {

/// GPT-2's block: x += W_o attention(LN(x)); x += W_2 gelu(W_1 LN(x)).
///
/// Tensor parallelism is Megatron's (Shoeybi et al., 2019, section 3): c_attn and c_fc divided by
/// columns (heads, feed-forward columns), both c_proj by rows, one all-reduce each in F and in B.
class TransformerBlock final : public LayerModule {
 public:
  /// parameters: ln_1 (gain, offset), c_attn (weight, bias), c_proj (weight, bias), then the same
  /// of the feed-forward part: ln_2, c_fc, c_proj.
  TransformerBlock(LayerContext& context, const std::vector<std::size_t>& parameters);

  Tensor forward(Batch& batch, Tensor input, SavedPtr* saved) override;
  Tensor backward_input(const Batch& batch, Tensor gradient, Saved& saved) override;
  void backward_weight(const Batch& batch, Saved& saved) override;

 private:
  enum Index {
    ln1_gain,
    ln1_offset,
    qkv,
    qkv_bias,
    attention_out,
    attention_out_bias,
    ln2_gain,
    ln2_offset,
    up,
    up_bias,
    down,
    down_bias
  };
  struct State;

  const float* weight(Index index) const { return context_.parameters.weight(parameters_[index]); }
  Linear linear(Index index) const { return {context_, parameters_[index]}; }
  float* bias_gradient(Index index) const;
  std::size_t num_heads() const { return static_cast<std::size_t>(context_.part(ShardAxis::heads).size()); }
  std::size_t attention_width() const;
  std::size_t num_columns() const { return static_cast<std::size_t>(context_.part(ShardAxis::columns).size()); }

  AttentionForm attention_form(const Batch& batch) const;
  /// Queries (0), keys (1) or values (2) of a matrix of them side by side.
  Matrix part(const Matrix& qkv, std::size_t which) const;
  /// From queries, keys and values, without any projection.
  void attend(const Batch& batch, State& state) const;
  Tensor attention_forward(const Batch& batch, State& state) const;
  Tensor feed_forward(const Tensor& attention, State& state) const;
  Tensor feed_forward_backward(const Batch& batch, Tensor gradient, State& state) const;
  Tensor attention_backward(const Batch& batch, State& state) const;

  LayerContext& context_;
  std::vector<std::size_t> parameters_;
};

}  // namespace pptrain
