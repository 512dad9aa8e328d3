#pragma once

#include "model/families/config_keys.hpp"
#include "model/graph/layer_graph.hpp"

namespace pptrain {

/// What the blocks of encoders have in common: attention of every position to all, then two
/// products with an activation between them, all with biases. Where norms stand is the family's.
struct EncoderShape {
  std::int64_t tokens = 0;  ///< positions of a sample
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t feed_forward = 0;
  Activation activation = Activation::gelu;
  bool query_bias = true;  ///< of queries, keys and values
  double deviation = 0.02;
  NormForm norm = {NormKind::layer, 1e-12F, false};

  /// What crosses from block to block: a row of `hidden` columns for each position.
  Port stream() const { return {tokens, hidden}; }
};

/// The keys that BertConfig and those made after it have in common. `tokens`: positions of a
/// sample.
EncoderShape encoder_shape(const ConfigJson& config, std::int64_t tokens);

/// Attention over `x`; `inner`: what stands before "query", "key" and "value" in their names.
ValueIndex encoder_attention(LayerGraph& g, ValueIndex x, const EncoderShape& shape,
                             const std::string& inner);

/// The feed-forward part over `x`.
ValueIndex encoder_feed_forward(LayerGraph& g, ValueIndex x, const EncoderShape& shape);

}  // namespace pptrain
